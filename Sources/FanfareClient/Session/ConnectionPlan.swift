import HTTPClient

/// What a transport needs beside a request, which takes a disk to find out.
struct ConnectionPlan: Sendable {
    /// Whom to trust; nothing is read where nothing is encrypted.
    let verification: Verification?
    /// How to get to the broker.
    let route: HTTPRoute

    /// Why there is no plan.
    struct Fault: Error {
        let closure: TransportClosure
    }

    /// Reads files and environment; blocks for as long as a disk takes.
    ///
    /// - Parameter request: What is to be opened.
    /// - Throws: What is wrong with the options.
    init(for request: TransportRequest) throws(Fault) {
        do throws(TrustFault) {
            verification =
                request.endpoint.isSecure ? try Verification(reading: request.trust.rules) : nil
        } catch {
            throw Fault(closure: .untrusted(reason: error.description))
        }
        do throws(InvalidOption) {
            route = try request.proxy.resolved(for: request.endpoint)
        } catch {
            throw Fault(closure: .proxyFailed(reason: error.description))
        }
    }
}
