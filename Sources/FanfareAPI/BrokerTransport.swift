import HTTPClient

/// The requests of a ``FanfareAPI`` over HTTP, by the means that the platform has.
///
/// Connections are kept open between requests, and closed after a while without one.
public final class BrokerTransport: APITransport {
    private let transport: any HTTPTransport

    /// Prepares; connections are made when they are needed.
    ///
    /// - Parameters:
    ///   - address: The broker.
    ///   - trust: Whose certificates are accepted.
    /// - Throws: `.unreachable` when there is no thread, no descriptor or no certificate to be had.
    public init(
        to address: BrokerAddress,
        trust: FanfareAPI.Settings.Trust = .system
    ) throws(FanfareAPIError) {
        do throws(HTTPFailure) {
            transport = try platformTransport(to: address.address, trust: HTTPTrust(trust))
        } catch {
            throw FanfareAPIError(error)
        }
    }

    /// Sends one request and waits for the whole answer.
    public func send(_ request: APIRequest) async throws(FanfareAPIError) -> APIResponse {
        var fields = [HTTPField("X-Pusher-Library", "fanfare-api-swift")]
        if !request.body.isEmpty { fields.append(HTTPField("Content-Type", "application/json")) }
        let call = HTTPCall(
            method: request.method,
            target: request.target,
            fields: fields,
            body: request.body,
            timeout: request.timeout,
            answerLengthMax: request.answerLengthMax
        )
        do throws(HTTPFailure) {
            let answer = try await transport.send(call)
            return APIResponse(status: answer.status, body: answer.body)
        } catch {
            throw FanfareAPIError(error)
        }
    }
}

#if canImport(Darwin)
    /// The transport of Apple platforms, by its other name.
    public typealias URLSessionTransport = BrokerTransport
#else
    /// The transport of Linux, by its other name.
    public typealias SocketTransport = BrokerTransport

    extension BrokerTransport {
        /// The most connections that are open at a time.
        public static var connectionCountMax: Int { ConnectionSettings().connectionCountMax }
        /// How long a connection is kept without a request.
        public static var idleTimeout: Duration { ConnectionSettings().idleTimeout }
    }
#endif

extension FanfareAPI.Settings {
    /// Whose certificates a client accepts from a broker.
    public enum Trust: Sendable, Hashable {
        /// Those that the system's authorities have signed, for the host's name.
        case system
        /// Those in this PEM file, authorities or the broker's own, for the host's name.
        case file(String)
        /// The same, given as the text of such a file.
        case pem([UInt8])
        /// Any: the connection is encrypted, but to whom is not known. For development alone.
        case insecure
    }
}

extension HTTPTrust {
    fileprivate init(_ trust: FanfareAPI.Settings.Trust) {
        let roots: Roots =
            switch trust {
            case .system: .system
            case .file(let path): .file(path)
            case .pem(let text): .pem(text)
            case .insecure: .insecure
            }
        self.init(roots)
    }
}

extension FanfareAPIError {
    init(_ failure: HTTPFailure) {
        switch failure {
        case .invalidURL(let url): self = .invalidURL(url)
        case .invalidRequest(let reason): self = .invalidArgument(reason)
        case .unreachable(let reason): self = .unreachable(reason)
        case .timedOut(let limit, let mayHaveArrived):
            self = .timedOut(after: limit, mayHaveArrived: mayHaveArrived)
        case .connectionLost(let reason): self = .connectionLost(reason)
        case .unexpectedAnswer(let reason): self = .unexpectedAnswer(reason)
        case .answerTooLong(let lengthMax): self = .answerTooLong(lengthMax: lengthMax)
        case .cancelled(let mayHaveArrived): self = .cancelled(mayHaveArrived: mayHaveArrived)
        }
    }
}
