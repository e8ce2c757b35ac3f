internal import HTTPClient
internal import Net
internal import Primitives

/// Sends webhooks over HTTP/1.1, plain or with TLS, on persistent connections.
///
/// All endpoints share one thread. Connections belong to a scheme, host and port, so endpoints of one server share
/// them.
final class HTTPTransport: WebhookTransport {
    /// The maximum length of a response, including its head, in bytes; above it the connection is closed.
    static let answerLengthMax = 65_536
    /// The time limit for the content of a response.
    ///
    /// The content is ignored, but a connection can only be reused once its response has been read to the end.
    static let contentPeriod: Duration = .milliseconds(250)
    /// The connection settings.
    ///
    /// Requests are limited per endpoint, because endpoints that share a server must not block each other. Idle
    /// connections are closed shortly before the 30 seconds after which many load balancers close them.
    static let connections = ConnectionSettings(
        connectionCountMax: 1_024,
        idleTimeout: .seconds(28),
        lifetime: .seconds(60),
        pacesReading: true
    )

    private let client: SocketClient
    private let timeout: Duration

    /// The number of reads of all connections.
    var readCount: Int { client.readCount }

    /// Creates the transport.
    ///
    /// - Parameters:
    ///   - timeout: The time from the start of an attempt to the head of the response.
    ///   - trustFile: A PEM file of certificates to trust in addition to the system's.
    /// - Throws: ``WebhooksError`` if the file cannot be read, or no thread can be started.
    init(timeout: Duration, trustFile: String?) throws(WebhooksError) {
        self.timeout = timeout
        let trust = try Self.trust(adding: trustFile)
        do {
            let tls = try TLSContext.client(trust: trust)
            client = try SocketClient(settings: Self.connections, tls: tls)
        } catch {
            if let trustFile, error is TLSError {
                throw .badTrustFile(path: trustFile, reason: "\(error)")
            }
            throw .noTransport(reason: "\(error)")
        }
    }

    private static func trust(adding path: String?) throws(WebhooksError) -> TLSTrust {
        guard let path else { return .system }
        do throws(TrustFault) {
            let added = try Verification(reading: HTTPTrust(.file(path)))
            guard case .certificates(let certificates) = added.roots else { return .system }
            return .systemAnd(certificates)
        } catch {
            throw .badTrustFile(path: path, reason: error.description)
        }
    }

    func send(_ request: WebhookRequest) async -> SendOutcome {
        guard let resource = HTTPResource(request.url, encodes: true) else {
            return .failed(
                "\(request.url.withoutURLSecrets) is not a URL that a request can be sent to"
            )
        }
        let call = HTTPCall(
            method: "POST",
            target: resource.target,
            fields: request.headers.map { HTTPField($0.name, $0.value) },
            body: request.body,
            // A repeated delivery is allowed: receivers recognise it by its ID.
            isRepeatable: true,
            timeout: timeout,
            answerLengthMax: Self.answerLengthMax,
            contentPeriod: Self.contentPeriod
        )
        do throws(HTTPFailure) {
            let answer = try await client.send(call, to: HTTPOrigin(resource.address))
            return .answered(status: answer.status)
        } catch {
            if case .timedOut = error { return .failed("no answer came within \(timeout)") }
            return .failed("the request failed: \(error)")
        }
    }

    func close() async { await client.close() }
}
