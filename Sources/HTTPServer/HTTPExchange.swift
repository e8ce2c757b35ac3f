public import HTTP1
public import Net

/// A request and its response.
///
/// Confined to the loop's thread. It can be kept and answered later; responses are sent in the order of the requests.
/// Once the connection has ended, responses are dropped.
public final class HTTPExchange {
    /// The response, or the upgrade, that follows the responses to earlier requests.
    enum Outcome {
        case response(Response)
        case prepared(PreparedResponse)
        case upgrade(UpgradeHandler)
    }

    /// Appends the head of the response, and bytes to send with it, to the output; returns the stream's new delegate.
    public typealias UpgradeHandler = (Stream, inout [UInt8]) -> any StreamDelegate

    private(set) var framing = AnswerFraming()
    /// The connection; nil once the exchange is answered or the connection has ended.
    private(set) var connection: HTTPConnection?
    /// The outcome, while it waits for the responses to earlier requests.
    var outcome: Outcome?
    /// The exchange of the next request.
    var next: HTTPExchange?
    /// The length of the request's content, in bytes.
    private(set) var contentLength = 0

    /// Called when the request is answered or its connection has ended, so that data for the response can be released.
    public var ended: (() -> Void)?

    /// When it began to wait for its response.
    var waitsSince: MonotonicTime?

    init() {}

    /// Sets up the exchange for a request.
    func begin(_ framing: AnswerFraming, contentLength: Int, on connection: HTTPConnection) {
        self.framing = framing
        self.contentLength = contentLength
        self.connection = connection
        waitsSince = nil
    }

    /// The connection's stream; nil once the exchange is answered or the connection has ended.
    public var stream: Stream? { connection?.stream }

    /// The peer's address; nil once the exchange is answered or the connection has ended, or if the stream was not
    /// accepted.
    public var peer: SocketAddress? { connection?.peer }

    /// Whether a response can still be sent.
    public var isOpen: Bool { connection != nil && outcome == nil }

    /// Answers the request; a second response is dropped.
    public func respond(_ response: Response) { complete(.response(response)) }

    /// Answers the request with a prepared response; a second response is dropped.
    public func respond(_ response: PreparedResponse) { complete(.prepared(response)) }

    /// Answers with 101 (Switching Protocols) and passes the stream to another protocol.
    ///
    /// When all earlier requests are answered, `head` is written and the stream gets its new delegate. The delegate's
    /// `streamOpened` is called, and it gets the bytes that the client sent after the request. The HTTP connection
    /// ends.
    ///
    /// A request without ``HTTP1/RequestHead/isUpgrade`` can be upgraded only inside `respond(to:body:on:)`. Later it
    /// is answered with 500, because bytes after it may have been read as a request.
    ///
    /// - Parameters:
    ///   - head: The complete head of the response, including the empty line.
    ///   - delegate: The stream's delegate for the other protocol.
    public func upgrade(head: [UInt8], to delegate: any StreamDelegate) {
        upgrade { _, output in
            output.append(contentsOf: head)
            return delegate
        }
    }

    /// Answers with 101 and a delegate that is made when all earlier requests are answered, and that may send bytes at
    /// once.
    ///
    /// - Parameter handler: Called once, before the stream gets its new delegate; never if the connection ends before.
    public func upgrade(_ handler: @escaping UpgradeHandler) {
        guard connection?.canUpgrade(self) ?? true else {
            assertionFailure("an upgrade of a request that did not ask for it")
            var response = Response(status: 500)
            response.closesConnection = true
            return respond(response)
        }
        complete(.upgrade(handler))
    }

    /// Detaches the exchange from its connection, because it is answered or never will be.
    func detach() {
        connection = nil
        outcome = nil
        next = nil
        ended.take()?()
    }

    private func complete(_ outcome: consuming Outcome) {
        guard let connection, self.outcome == nil else { return }
        connection.complete(self, outcome)
    }
}

extension HTTPExchange.Outcome {
    /// Whether another protocol is to take over.
    var isUpgrade: Bool {
        if case .upgrade = self { true } else { false }
    }
}
