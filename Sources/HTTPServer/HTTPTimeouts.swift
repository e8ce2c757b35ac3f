import HTTP1
public import Net

/// The timeouts for clients.
public struct HTTPTimeouts: Hashable, Sendable {
    /// From a request's first byte to the end of its head; then the response is 408.
    public var head: Duration

    /// From the end of a head to the end of its content; then the response is 408.
    public var body: Duration

    /// Between two requests, and before the first; then the connection is closed silently.
    public var idle: Duration

    /// From the last response to the client's end; then the descriptor is closed anyway.
    ///
    /// The same from the client's end to the last response.
    public var closing: Duration

    /// From a request's last byte to its response; then the response is 503.
    public var answer: Duration

    /// How much longer than `idle` a kept connection waits; the response to a request in that time closes it.
    ///
    /// A client that uses its connection just when the server ends it loses the request (RFC 9112 §9.5). Therefore a
    /// time slightly shorter than `idle` is announced to it by `Keep-Alive: timeout=`, unless `grace` is zero.
    public var grace: Duration

    /// Makes timeouts.
    public init(
        head: Duration = .seconds(10),
        body: Duration = .seconds(30),
        idle: Duration = .seconds(75),
        closing: Duration = .seconds(5),
        answer: Duration = .seconds(60),
        grace: Duration = .zero
    ) {
        self.head = head
        self.body = body
        self.idle = idle
        self.closing = closing
        self.answer = answer
        self.grace = grace
    }

    /// The time that is announced to clients, in seconds; nil for none.
    ///
    /// A fifteenth shorter than `idle`, to allow for the client's clock and the transmission time of its request.
    var announcedSeconds: Int64? {
        let seconds = idle.components.seconds
        return grace > .zero && seconds > 0 ? max(1, seconds - max(1, seconds / 15)) : nil
    }
}

// Waiting for the client.
extension HTTPConnection: TimerTarget {
    /// What a connection waits for.
    public enum Wait: UInt8, Sendable {
        /// Nothing; the server has to act.
        case nothing
        /// The next request, the rest of its head, or the rest of its content.
        case idle, head, body
        /// The client has to read its responses.
        case queue
    }

    /// Starts the timeout for the client's next action.
    ///
    /// The timeout continues while that action stays the same, so that slowly arriving bytes do not prolong it. It
    /// starts again if it `restarts`, because a request was completed meanwhile.
    func watchClient(restarts: Bool = false) {
        let next = nextWait
        guard next != wait || restarts else { return }
        wait = next
        switch next {
        case .nothing: return
        // Most connections are idle most of the time, so the site has one timer for all of them.
        case .idle: deadline = site.watchIdle(isKept: isKept)
        // The timer that checks the queue is running; see below.
        case .queue: deadline = site.reactor.now.advanced(by: limit(of: next))
        case .head, .body:
            let limit = self.limit(of: next)
            deadline = site.reactor.now.advanced(by: limit)
            if let timer { site.reactor.cancel(timer) }
            timer = site.reactor.schedule(after: limit, self)
        }
    }

    private var nextWait: Wait {
        guard acceptsRequests, let stream, !stream.isClosing else { return .nothing }
        if awaitsDrain { return .queue }
        if isBlocked { return .nothing }
        if let partialRequest {
            if partialRequest.reading.expectsContinue { return .nothing }
            return partialRequest.reading.isInContent ? .body : .head
        }
        return first == nil ? .idle : .nothing
    }

    func limit(of wait: Wait) -> Duration {
        switch wait {
        case .head: site.timeouts.head
        case .body: site.timeouts.body
        case .nothing, .idle, .queue: site.timeouts.idle
        }
    }

    /// Called by the reactor; the tag is 0 for the timeout of ``watchClient(restarts:)``.
    ///
    /// Otherwise the tag is the delay of the last check of the stream's queue, in milliseconds.
    public func timerFired(tag: Int) {
        timer = nil
        guard tag == 0 else { return checkQueue(afterMilliseconds: tag) }
        // The client has ended, and the server has not answered.
        if hasClientEnded, stream?.isClosing == false { return close() }
        guard let stream, !stream.isClosing, wait != .nothing, wait != .idle else { return }
        let now = site.reactor.now
        guard now >= deadline else {
            timer = site.reactor.schedule(after: now.duration(to: deadline), self)
            return
        }
        switch wait {
        case .nothing, .idle, .queue: break
        case .body where partialRequest?.reading.isDiscarding == true: stopReading()
        case .head, .body:
            let seconds = Int(limit(of: wait).components.seconds)
            refuse(.timedOut(seconds: seconds))
        }
    }

    // MARK: A client that does not read

    /// Begins to wait until the stream's queue is empty.
    ///
    /// The kernel usually accepts it at the end of this turn, without an event; if it refuses a part, `streamDrained`
    /// is called later. So the queue is checked, at increasing intervals, with the connection's only timer, in place of
    /// the timeout that was running.
    func awaitDrain() {
        guard !awaitsDrain else { return }
        awaitsDrain = true
        checkQueue(inMilliseconds: 1)
    }

    private func checkQueue(inMilliseconds delay: Int) {
        if let timer { site.reactor.cancel(timer) }
        timer = site.reactor.schedule(after: .milliseconds(delay), self, tag: delay)
    }

    private func checkQueue(afterMilliseconds delay: Int) {
        guard awaitsDrain, let stream, !stream.isClosing else { return }
        if stream.queuedByteCount == 0 { return queueDrained() }
        if wait == .queue, site.reactor.now >= deadline { return stream.abort() }
        checkQueue(inMilliseconds: min(delay * 2, 256))
    }

    func queueDrained() {
        guard awaitsDrain else { return }
        awaitsDrain = false
        resumeIfPossible()
        watchClient()
    }

    // MARK: Shutdown of the site

    /// Whether the client may send another request at any time, and has not begun to.
    var isIdleAfterAnswer: Bool { isKept && wait == .idle }

    /// Closes the connection if no request is in progress.
    ///
    /// It waits for the client's end for only 200 ms, because the last response was sent long ago. A browser does not
    /// notice the end of an unused connection until it uses it.
    func closeIfIdle() {
        if hasAnsweredAll, partialRequest?.reading.isDiscarding ?? true {
            close(within: min(site.timeouts.closing, .milliseconds(200)))
        }
    }
}
