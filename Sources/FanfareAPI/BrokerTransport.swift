import HTTPClient

/// The address of a broker's HTTP API: `http://127.0.0.1:6001`, `https://push.example.com/prefix`.
public struct BrokerAddress: Hashable, Sendable {
    let address: HTTPAddress
    /// Whether the connection uses TLS.
    public var isSecure: Bool { address.isSecure }
    /// A host name or an IP address, without brackets.
    public var host: String { address.host }
    /// The port; by default 80 or 443.
    public var port: UInt16 { address.port }
    /// The path before `/apps`, without a trailing slash; usually empty.
    public var pathPrefix: String { address.pathPrefix }

    /// Parses an address.
    ///
    /// - Parameter url: An `http` or `https` URL with a host and optionally a port and a path.
    /// - Throws: `.invalidURL`.
    public init(_ url: String) throws(FanfareAPIError) {
        do throws(HTTPFailure) {
            address = try HTTPAddress(url)
        } catch {
            throw FanfareAPIError(error)
        }
    }
}

/// The default transport of a ``BrokerAPI``, over HTTP.
///
/// It keeps connections open between requests and closes idle ones.
public final class BrokerTransport: APITransport {
    private let transport: any HTTPTransport

    /// Creates a transport; it opens connections when needed.
    ///
    /// - Parameters:
    ///   - address: The broker.
    ///   - trust: The certificates to trust for `https`.
    /// - Throws: `.unreachable` when threads or descriptors are exhausted, or certificates cannot be read.
    public init(
        to address: BrokerAddress,
        trust: BrokerAPI.Settings.Trust = .system
    ) throws(FanfareAPIError) {
        do throws(HTTPFailure) {
            transport = try platformTransport(to: address.address, trust: HTTPTrust(trust))
        } catch {
            throw FanfareAPIError(error)
        }
    }

    /// Sends one request and waits for the whole response.
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
            let response = try await transport.send(call)
            return APIResponse(status: response.status, body: response.body)
        } catch {
            throw FanfareAPIError(error)
        }
    }
}

#if canImport(Darwin)
    /// Another name of the transport on Apple platforms.
    public typealias URLSessionTransport = BrokerTransport
#else
    /// Another name of the transport on Linux.
    public typealias SocketTransport = BrokerTransport

    extension BrokerTransport {
        /// The most connections open at the same time.
        public static var connectionCountMax: Int { ConnectionSettings().connectionCountMax }
        /// The time after which an idle connection is closed.
        public static var idleTimeout: Duration { ConnectionSettings().idleTimeout }
    }
#endif

extension BrokerAPI.Settings {
    /// The broker's certificates that a client accepts.
    public enum Trust: Sendable, Hashable {
        /// Certificates for the host's name, signed by an authority that the system trusts.
        case system
        /// Certificates for the host's name, signed by, or equal to, one in this PEM file.
        case file(String)
        /// The same as `file`, with the file's text.
        case pem([UInt8])
        /// Any certificate: the connection is encrypted, but the broker is not authenticated. For development only.
        case insecure
    }
}

extension HTTPTrust {
    fileprivate init(_ trust: BrokerAPI.Settings.Trust) {
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
