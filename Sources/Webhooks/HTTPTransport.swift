internal import HTTPClient
internal import Net

/// Requests over HTTP/1.1, plain or with TLS, on connections that are kept for the next.
///
/// All endpoints share one thread. Connections belong to a scheme, host and port, so that endpoints of one server share
/// them.
final class HTTPTransport: WebhookTransport {
    /// The length of an answer, in bytes, its head included; beyond it the connection is closed.
    static let answerLengthMax = 65_536
    /// How long the content of an answer is waited for once the status is known.
    ///
    /// It means nothing, but a connection whose answer has been read to its end can be used again.
    static let contentPeriod: Duration = .milliseconds(250)
    /// How connections are kept.
    ///
    /// Each endpoint has its own limit of requests; two that share a server must not wait for each other. A connection
    /// is given up somewhat before the 30 seconds after which many load balancers close it.
    static let connections = ConnectionSettings(
        connectionCountMax: 1_024,
        idleTimeout: .seconds(28),
        lifetime: .seconds(60),
        pacesReading: true
    )

    private let client: SocketClient
    private let timeout: Duration

    /// How often connections were read.
    var readCount: Int { client.readCount }

    /// Prepares to send.
    ///
    /// - Parameters:
    ///   - timeout: From the first step of an attempt to the head of the answer.
    ///   - trustFile: A PEM file of certificates that are trusted beside the system's.
    /// - Throws: ``WebhooksError`` when the file cannot be read, or there is no thread to be had.
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
            return .failed("\(request.url) is no URL that a request can be sent to")
        }
        let call = HTTPCall(
            method: "POST",
            target: resource.target,
            fields: request.headers.map { HTTPField($0.name, $0.value) },
            body: request.body,
            // An event may be delivered twice, and has an ID by which a receiver knows it.
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
