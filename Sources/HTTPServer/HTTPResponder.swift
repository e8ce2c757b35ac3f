public import HTTP1
public import Net

/// Who answers the requests of an ``HTTPSite``; called on the loop's thread.
public protocol HTTPResponder: AnyObject {
    /// Judges a request whose head is complete and whose content has yet to come.
    ///
    /// A request that is refused here is answered without its content being read, after which the
    /// connection is closed if there is any. By default every request is let in.
    ///
    /// - Parameter head: Request line and fields.
    /// - Returns: The refusal, or nil to go on with the content.
    func refusal(of head: RequestHead) -> Response?

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

    /// A request was answered with a refusal before it could be given to ``respond(to:body:on:)``.
    ///
    /// - Parameters:
    ///   - error: What is wrong with it.
    ///   - wait: What the client was waited for.
    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait)

    /// A connection has ended by a fault, as by a TLS handshake that took too long.
    func failed(_ error: StreamError)

    /// A connection is closed because it did nothing when others needed its place; see ``HTTPSite/hasRoom()``.
    func connectionDisplaced()

    /// A connection is closed because no request came on it for too long.
    func idleConnectionClosed()
}

extension HTTPResponder {
    /// Lets every request in.
    public func refusal(of head: RequestHead) -> Response? { nil }

    /// Does nothing.
    public func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {}

    /// Does nothing.
    public func failed(_ error: StreamError) {}

    /// Does nothing.
    public func connectionDisplaced() {}

    /// Does nothing.
    public func idleConnectionClosed() {}
}
