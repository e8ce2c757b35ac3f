public import HTTP1
public import Net

/// One request's place in the order of its connection's answers.
///
/// Confined to the loop's thread. It can be kept and answered later; answers leave in the order of
/// the requests. Once the connection has ended, answers are dropped.
public final class HTTPExchange {
    /// What is to be sent, or done, when the exchange is at the head of the queue.
    enum Outcome {
        case response(Response)
        case prepared(PreparedResponse)
        case upgrade(Entry)
    }

    /// Appends the head of the answer, and what is to follow it at once, to the bytes that are about to leave; returns
    /// the stream's new owner.
    public typealias Entry = (Stream, inout [UInt8]) -> any StreamDelegate

    private(set) var framing = AnswerFraming()
    /// Nil once the answer is on its way, or the connection has ended.
    private(set) var connection: HTTPConnection?
    /// What waits for the answers to earlier requests.
    var outcome: Outcome?
    /// The exchange of the request behind this one.
    var next: HTTPExchange?
    /// The length of the request's content, in bytes.
    private(set) var contentLength = 0

    init() {}

    /// Takes the place of a request.
    func begin(_ framing: AnswerFraming, contentLength: Int, on connection: HTTPConnection) {
        self.framing = framing
        self.contentLength = contentLength
        self.connection = connection
    }

    /// The connection's stream; nil once the exchange is answered or the connection has ended.
    public var stream: Stream? { connection?.stream }

    /// Whether an answer can still reach the client.
    public var isOpen: Bool { connection != nil && outcome == nil }

    /// Answers the request; a second answer is dropped.
    ///
    /// - Parameter response: The answer.
    public func respond(_ response: Response) { settle(.response(response)) }

    /// Answers the request with an answer that was encoded before; a second answer is dropped.
    ///
    /// - Parameter response: The answer.
    public func respond(_ response: PreparedResponse) { settle(.prepared(response)) }

    /// Answers with 101 (Switching Protocols) and hands the stream over.
    ///
    /// When all earlier requests are answered, `head` is written, the stream gets its new owner,
    /// that owner's `streamOpened` is called, and it is lent what the client sent behind the
    /// request. Of the HTTP connection nothing remains. A request that did not ask for an upgrade
    /// by ``HTTP1/RequestHead/isUpgrade`` can be upgraded inside `respond(to:body:on:)` only; later
    /// it is answered with 500, since bytes behind it may have been read as a request.
    ///
    /// - Parameters:
    ///   - head: The complete head of the answer, empty line included.
    ///   - owner: Who speaks the other protocol.
    public func upgrade(head: [UInt8], to owner: any StreamDelegate) {
        upgrade { _, output in
            output.append(contentsOf: head)
            return owner
        }
    }

    /// The same, for an owner that is made when its turn has come, and that may have something to say at once.
    ///
    /// - Parameter entry: Called once, before the stream gets its new owner; never if the connection ends before.
    public func upgrade(_ entry: @escaping Entry) {
        guard connection?.canUpgrade(self) ?? true else {
            assertionFailure("an upgrade of a request that did not ask for it")
            var response = Response(status: 500)
            response.closesConnection = true
            return respond(response)
        }
        settle(.upgrade(entry))
    }

    /// Cuts the exchange off from its connection: it is answered, or never will be.
    func detach() {
        connection = nil
        outcome = nil
        next = nil
    }

    private func settle(_ outcome: consuming Outcome) {
        guard let connection, self.outcome == nil else { return }
        connection.settle(self, outcome)
    }
}

extension HTTPExchange.Outcome {
    /// Whether another protocol is to take over.
    var isUpgrade: Bool {
        if case .upgrade = self { true } else { false }
    }
}
