import HTTPClient

#if os(Linux)
    import Net
#endif

/// The resolved trust and proxy of a request; resolving may read files and the environment.
struct ConnectionPlan: Sendable {
    /// The certificate verification; `nil` without TLS.
    let verification: Verification?
    /// The route to the broker: direct or through a proxy.
    let route: HTTPRoute

    /// The reason the options are unusable.
    struct Fault: Error {
        let closure: TransportClosure
    }

    /// Reads files and the environment, which blocks; throws the invalid option as a closure of the connection.
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

#if os(Linux)
    /// The resolved addresses, verification and proxy of a connection.
    struct Route: Sendable {
        /// The addresses of the broker or the proxy, in the order in which to try them.
        let addresses: [SocketAddress]
        /// The certificate verification; `nil` without TLS.
        let verification: Verification?
        /// The proxy that the addresses belong to, if any.
        let proxy: ProxyAddress?

        /// Resolves names and reads files, which blocks; throws the name that cannot be resolved, or the invalid
        /// option.
        init(for request: TransportRequest) throws(ConnectionPlan.Fault) {
            let plan = try ConnectionPlan(for: request)
            verification = plan.verification
            let endpoint = request.endpoint
            proxy = plan.route.proxy
            if let proxy {
                do throws(ResolveError) {
                    addresses = try SocketAddress.resolve(host: proxy.host, port: proxy.port)
                } catch {
                    throw ConnectionPlan.Fault(
                        closure: .proxyFailed(
                            reason: "the proxy \(proxy) cannot be reached: \(error). Check its host"
                        )
                    )
                }
            } else {
                do throws(ResolveError) {
                    addresses = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port)
                } catch {
                    throw ConnectionPlan.Fault(closure: .unreachable(reason: error.description))
                }
            }
        }
    }
#endif
