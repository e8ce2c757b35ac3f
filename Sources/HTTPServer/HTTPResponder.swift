public import HTTP1
public import Net

/// Receives the accepted requests; called on the loop's thread.
public protocol HTTPContentReceiver: AnyObject {
    /// Answers a request, now or later.
    ///
    /// Every exchange has to be answered once, or upgraded. Until then later responses of the same connection wait.
    /// With ``HTTPSite/unansweredMax`` of them no more requests are read.
    ///
    /// - Parameters:
    ///   - head: The request line and the fields.
    ///   - body: The content, valid during the call.
    ///   - exchange: The exchange to answer.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange)
}

/// A peer's mistake about the encryption of a port.
public enum ProtocolMistake: Sendable {
    /// It has begun a TLS handshake on a port without TLS.
    ///
    /// It gets a response without TLS, by which TLS libraries recognise the mistake ("wrong version number").
    case tlsOnPlainPort
    /// It has sent a request without TLS on a port with TLS, and gets a response without TLS.
    case plainOnTLSPort
}

/// How a request is handled, decided by its head.
public enum HTTPDecision {
    /// The content is read, and passed to the receiver once, when it is complete.
    ///
    /// A separate object can carry the results of parsing the head to the content. It is released if the connection
    /// ends before.
    case accept(any HTTPContentReceiver)

    /// The request is answered at once, and its content is discarded.
    ///
    /// Short content is discarded as it arrives, and the connection stays open. Content longer than 256 KiB closes the
    /// connection after the response. So does a client that waits for 100 (Continue) before it sends the content (RFC
    /// 9110 §10.1.1).
    case answer(Response)
}

/// Answers the requests of an ``HTTPSite``; called on the loop's thread.
///
/// It is the receiver itself, unless ``decide(on:of:)`` returns another one.
public protocol HTTPResponder: HTTPContentReceiver {
    /// Decides on a request whose head is complete and whose content has not been read.
    ///
    /// Requests that can be refused without their content should be refused here, because incomplete content takes
    /// memory. By default every request is accepted.
    ///
    /// - Parameters:
    ///   - head: The request line and the fields.
    ///   - stream: The connection's stream.
    /// - Returns: The receiver of the content, or the response.
    func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision

    /// Called when a request was refused before it was passed to its receiver.
    ///
    /// - Parameters:
    ///   - error: The reason.
    ///   - wait: What the connection was waiting for.
    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait)

    /// Returns a sentence with advice to add to the response to such a request; `nil` for none.
    func advice(on error: HTTPError) -> String?

    /// Called when a connection has ended with an error, such as a TLS handshake that timed out.
    func failed(_ error: StreamError)

    /// Called when a peer speaks TLS on a stream without, or HTTP without TLS on a stream with TLS.
    ///
    /// The connection is closed.
    func mistookProtocol(_ mistake: ProtocolMistake, on stream: Stream)

    /// Called when an inactive connection is closed because the site is full; see ``HTTPSite/hasCapacity()``.
    func connectionEvicted()

    /// Called when a request was refused with 503 because the memory for input is exhausted; see `Reactor.inbound`.
    func contentRefused()

    /// Called when a connection is closed because it was idle for too long.
    func idleConnectionClosed()

    /// Called when requests of a connection were refused with 503, because they were not answered in time.
    func answerTimedOut()
}

extension HTTPResponder {
    /// Accepts every request.
    public func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision { .accept(self) }

    /// Does nothing.
    public func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {}

    /// Returns nothing.
    public func advice(on error: HTTPError) -> String? { nil }

    /// Does nothing.
    public func failed(_ error: StreamError) {}

    /// Does nothing.
    public func mistookProtocol(_ mistake: ProtocolMistake, on stream: Stream) {}

    /// Does nothing.
    public func connectionEvicted() {}

    /// Does nothing.
    public func contentRefused() {}

    /// Does nothing.
    public func idleConnectionClosed() {}

    /// Does nothing.
    public func answerTimedOut() {}
}
