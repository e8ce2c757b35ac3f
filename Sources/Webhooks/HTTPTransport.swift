internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Primitives

/// Requests over HTTP/1.1, plain or with TLS, on connections that are kept for the next.
final class HTTPTransport: WebhookTransport {
    /// The length of an answer, in bytes, its head included; beyond it the connection is closed.
    static let answerLengthMax = 65_536
    /// How long the content of an answer is waited for once the status is known.
    ///
    /// It means nothing, but a connection whose answer has been read to its end can be used again.
    static let contentPeriod: Duration = .milliseconds(250)

    /// How often connections were read.
    let reads = AnswerHandler.ReadCounter()
    private let client: HTTPClient
    private let timeout: Duration

    /// Prepares to send.
    ///
    /// - Parameters:
    ///   - timeout: From the first step of an attempt to the head of the answer.
    ///   - trustFile: A PEM file of certificates that are trusted beside the system's.
    /// - Throws: ``WebhooksError`` when the file cannot be read.
    init(timeout: Duration, trustFile: String?) throws(WebhooksError) {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let trustFile {
            do {
                let certificates = try NIOSSLCertificate.fromPEMFile(trustFile)
                tls.additionalTrustRoots = [.certificates(certificates)]
            } catch {
                throw .badTrustFile(path: trustFile, reason: "\(error)")
            }
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow
        )
        // HTTP/2 writes all names of fields in lower case, and some receivers compare them as they are.
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .milliseconds(timeout.wholeMilliseconds)
        // Each endpoint has its own limit; two that share a host must not wait for each other.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1_024
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Whoever waits decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { [reads] channel in
            channel.eventLoop.submit {
                let handler = AnswerHandler(lengthMax: Self.answerLengthMax, counter: reads)
                try channel.pipeline.syncOperations.addHandler(handler, position: .first)
            }
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.timeout = timeout
    }

    func send(_ request: WebhookRequest) async -> SendOutcome {
        var message = HTTPClientRequest(url: request.url)
        message.method = .POST
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        message.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let answer = try await client.execute(
                message,
                timeout: .milliseconds(timeout.wholeMilliseconds)
            )
            await drain(answer.body)
            return .answered(status: Int(answer.status.code))
        } catch let error as HTTPClientError where Self.timeouts.contains(error) {
            return .failed("no answer came within \(timeout)")
        } catch {
            return .failed("the request failed: \(error)")
        }
    }

    func close() async {
        // It fails when it was closed before, and then there is nothing to do.
        try? await client.shutdown()
    }

    private static let timeouts: [HTTPClientError] = [
        .deadlineExceeded, .connectTimeout, .readTimeout, .getConnectionFromPoolTimeout,
        .tlsHandshakeTimeout,
    ]

    /// Reads the rest of an answer, if it comes soon and is short; otherwise the connection is closed.
    private func drain(_ body: HTTPClientResponse.Body) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { do { for try await _ in body {} } catch {} }
            group.addTask { try? await Task.sleep(for: Self.contentPeriod) }
            await group.next()
            group.cancelAll()
        }
    }
}
