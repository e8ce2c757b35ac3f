import HTTP1
public import Net

/// How long a client may take, and how long we wait for it.
public struct HTTPTimeouts: Hashable, Sendable {
    /// From a request's first byte to the end of its head; past it the answer is 408.
    public var head: Duration

    /// From the end of a head to the end of its content; past it the answer is 408.
    public var body: Duration

    /// Between two requests, and before the first; past it the connection is closed silently.
    public var idle: Duration

    /// From the last answer to the client's end, before the descriptor is closed anyway.
    public var closing: Duration

    /// Sets timeouts.
    ///
    /// - Parameters:
    ///   - head: For a request's head.
    ///   - body: For its content.
    ///   - idle: Between requests.
    ///   - closing: For the client's end.
    public init(
        head: Duration = .seconds(10),
        body: Duration = .seconds(30),
        idle: Duration = .seconds(75),
        closing: Duration = .seconds(5)
    ) {
        self.head = head
        self.body = body
        self.idle = idle
        self.closing = closing
    }
}

// How long a connection waits, and for what.
extension HTTPConnection: TimerTarget {
    /// What the client is waited for.
    public enum Wait: UInt8, Sendable {
        /// Nothing: it is our turn.
        case nothing
        /// The next request, the rest of its head, or the rest of its content.
        case idle, head, body
        /// The client is to read its answers.
        case queue
    }

    /// Sets the time for what the client has to do next.
    ///
    /// It goes on running while the client is at the same thing, so that bytes that drip do not
    /// prolong it; unless it `restarts`, because a request was completed meanwhile.
    func watchClient(restarts: Bool = false) {
        let next = nextWait
        guard next != wait || restarts else { return }
        wait = next
        switch next {
        case .nothing: return
        // Most connections are idle for most of the time: one timer of the site is for all of them.
        case .idle: deadline = site.watchIdle()
        // The timer that looks at the queue is running: see below.
        case .queue: deadline = site.reactor.now.advanced(by: limit(of: next))
        case .head, .body:
            let limit = self.limit(of: next)
            deadline = site.reactor.now.advanced(by: limit)
            if let timer { site.reactor.cancel(timer) }
            timer = site.reactor.schedule(after: limit, self)
        }
    }

    private var nextWait: Wait {
        guard takesRequests, let stream, !stream.isClosing else { return .nothing }
        if awaitsQueue { return .queue }
        if isHeldUp { return .nothing }
        if let unfinished {
            if unfinished.reading.owesContinue { return .nothing }
            return unfinished.reading.isInContent ? .body : .head
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

    /// Called by the reactor.
    ///
    /// - Parameter tag: 0 for the time of ``watchClient(restarts:)``; else the milliseconds after
    ///   which the stream's queue is looked at.
    public func timerFired(tag: Int) {
        timer = nil
        guard tag == 0 else { return checkQueue(afterMilliseconds: tag) }
        guard let stream, !stream.isClosing, wait != .nothing, wait != .idle else { return }
        let now = site.reactor.now
        guard now >= deadline else {
            timer = site.reactor.schedule(after: now.duration(to: deadline), self)
            return
        }
        switch wait {
        case .nothing, .idle, .queue: break
        case .body where unfinished?.reading.isDiscarding == true: takeNoMore()
        case .head, .body:
            let seconds = Int(limit(of: wait).components.seconds)
            refuse(.timedOut(seconds: seconds))
        }
    }

    // MARK: A client that does not read

    /// Begins to wait for the stream's queue to go.
    ///
    /// The kernel usually takes it at the end of this turn, of which nobody is told; if it refuses
    /// a part, `streamDrained` comes later. So the queue is looked at, less and less often, by the
    /// connection's one timer: it takes the place of the one for what was waited for before.
    func awaitQueue() {
        guard !awaitsQueue else { return }
        awaitsQueue = true
        checkQueue(inMilliseconds: 1)
    }

    private func checkQueue(inMilliseconds delay: Int) {
        if let timer { site.reactor.cancel(timer) }
        timer = site.reactor.schedule(after: .milliseconds(delay), self, tag: delay)
    }

    private func checkQueue(afterMilliseconds delay: Int) {
        guard awaitsQueue, let stream, !stream.isClosing else { return }
        if stream.queuedByteCount == 0 { return queueHasGone() }
        if wait == .queue, site.reactor.now >= deadline { return stream.abort() }
        checkQueue(inMilliseconds: min(delay * 2, 256))
    }

    func queueHasGone() {
        guard awaitsQueue else { return }
        awaitsQueue = false
        resumeIfPossible()
        watchClient()
    }

    // MARK: The end of the site

    /// Closes the connection if no request is under way.
    ///
    /// The last answer is old news, so the client's end is hardly waited for: a browser keeps connections open that
    /// it has never used, and notices nothing before it does.
    func closeIfIdle() {
        if hasAnsweredAll, unfinished?.reading.isDiscarding ?? true {
            close(within: min(site.timeouts.closing, .milliseconds(200)))
        }
    }
}
