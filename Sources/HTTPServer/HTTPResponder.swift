public import HTTP1
public import Net

/// Receives the requests whose heads were accepted; called on the loop's thread.
public protocol HTTPContentReceiver: AnyObject {
    /// Answers a request, now or later.
    ///
    /// Every exchange has to be answered once, or upgraded; until then later answers of the same
    /// connection wait, and at some number of them the client is no longer read.
    ///
    /// - Parameters:
    ///   - head: Request line and fields.
    ///   - body: The content, lent for the call.
    ///   - exchange: What takes the answer.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange)
}

/// What becomes of a request, decided by its head.
public enum HTTPDecision {
    /// The content is read; the receiver gets it once, when it is whole.
    ///
    /// An object of its own can carry what was found out from the head to the content. A connection
    /// that ends before lets go of it.
    case accept(any HTTPContentReceiver)

    /// The request is answered at once, and nothing of its content is kept.
    ///
    /// Short content is discarded as it arrives, so that the connection stays in use. It is closed
    /// behind the answer if the content is longer than 256 KiB, or if the client waits to be told
    /// to send it (RFC 9110 §10.1.1).
    case answer(Response)
}

/// Answers the requests of an ``HTTPSite``; called on the loop's thread.
///
/// It receives the requests itself, unless ``decide(on:)`` returns another receiver.
public protocol HTTPResponder: HTTPContentReceiver {
    /// Decides on a request whose head is complete and whose content has yet to come.
    ///
    /// Whatever can be refused without the content is best refused here: content that has arrived in
    /// part takes memory. By default every request is accepted.
    ///
    /// - Parameter head: Request line and fields.
    /// - Returns: Whether to read the content, or the answer.
    func decide(on head: RequestHead) -> HTTPDecision

    /// A request was answered with a refusal before it could be given to its receiver.
    ///
    /// - Parameters:
    ///   - error: What is wrong with it.
    ///   - wait: What the client was waited for.
    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait)

    /// A connection has ended by a fault, as by a TLS handshake that took too long.
    func failed(_ error: StreamError)

    /// A connection is closed because it did nothing when others needed its place; see ``HTTPSite/hasRoom()``.
    func connectionDisplaced()

    /// A request was refused with 503 because what has arrived of others fills the memory for it:
    /// see `Reactor.inbound`.
    func contentRefused()

    /// A connection is closed because no request came on it for too long.
    func idleConnectionClosed()
}

extension HTTPResponder {
    /// Accepts every request.
    public func decide(on head: RequestHead) -> HTTPDecision { .accept(self) }

    /// Does nothing.
    public func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {}

    /// Does nothing.
    public func failed(_ error: StreamError) {}

    /// Does nothing.
    public func connectionDisplaced() {}

    /// Does nothing.
    public func contentRefused() {}

    /// Does nothing.
    public func idleConnectionClosed() {}
}
