import HTTP1
import Net

// Eviction: closing inactive connections when the site has the maximum number.
extension HTTPSite {
    /// How long a connection may be inactive while the site is full.
    static var graceTime: Duration { .seconds(1) }
    /// The maximum number of connections that are evicted at a time.
    private static var evictedCountMax: Int { 64 }

    /// Returns whether one more connection may be accepted, for the `hasCapacity` of `Reactor.listen`.
    ///
    /// If the site is full, refused connections that have not closed yet are aborted first, oldest first, because their
    /// clients have got the reason. Next, connections are evicted that have waited for their clients the longest, and
    /// for at least a second. So connections that send nothing block new ones for no longer than that, and active ones
    /// are not closed; meanwhile new connections wait in the kernel's backlog. If there are none of these, the requests
    /// that have waited for their responses for a second are abandoned, oldest first. Otherwise slow responses could
    /// keep the server from accepting connections.
    ///
    /// A used connection may carry another request until its announced time is over, and a request in transit when the
    /// connection is aborted is lost. Such a connection is evicted only if the site has no other ones, and one at a
    /// time. That happens only with a limit of fewer than eight connections. With a higher one, each response near the
    /// limit ends its connection (``endsConnections``).
    public func hasCapacity() -> Bool {
        while connectionCount >= connectionsMax, draining.abortOldest() {
            responder.connectionEvicted()
        }
        guard connectionCount >= connectionsMax else { return true }
        let latest = reactor.now.advanced(by: .zero - Self.graceTime)
        let waiting = waitingConnections()
        let others = waiting.filter { !$0.connection.isWithinAnnouncedTime }
        var candidates = others.filter { $0.since <= latest }
        var countMax = Self.evictedCountMax
        if candidates.isEmpty { candidates = unansweredConnections().filter { $0.since <= latest } }
        if candidates.isEmpty, others.isEmpty, waiting.count == connectionList.count {
            candidates = waiting.filter { $0.since <= latest }
            countMax = 1
        }
        guard !candidates.isEmpty else { return false }
        candidates.sort { $0.since < $1.since }
        for (connection, _) in candidates.prefix(countMax) {
            connection.evict()
            responder.connectionEvicted()
        }
        // A connection that gets a 503 counts until the 503 is sent.
        return connectionCount < connectionsMax
    }
}

extension HTTPConnection {
    /// The time since which the connection has waited for the client; nil while it waits for the server.
    ///
    /// It waits for the handshake, for a request, for the client to read its responses, or for its end after the last
    /// response.
    var waitingSince: MonotonicTime? {
        guard let stream else { return nil }
        guard !stream.isClosing else { return deadline }
        switch wait {
        case .idle where isKept:
            return deadline.advanced(by: .zero - site.timeouts.idle - site.timeouts.grace)
        case .idle, .head, .body, .queue:
            return deadline.advanced(by: .zero - limit(of: wait))
        case .nothing:
            return stream.isOpen && !hasClientEnded ? nil : deadline
        }
    }

    /// Whether the time that `Keep-Alive` has announced is not over, so that the client may still send another request.
    fileprivate var isWithinAnnouncedTime: Bool {
        guard isIdleAfterAnswer, !hasClientEnded, let seconds = site.timeouts.announcedSeconds,
            let waitingSince
        else { return false }
        return site.reactor.now < waitingSince.advanced(by: .seconds(seconds))
    }

    /// Closes the connection: silently between two requests, as HTTP allows (RFC 9112 §9.5), or with 503 during one.
    func evict() {
        guard hasClientEnded || waitingSince != nil else { return refuseUnanswered() }
        let isAnswered = partialRequest?.reading.isDiscarding == true
        switch stream?.isOpen == true && !isAnswered ? wait : .nothing {
        case .head, .body:
            respondLast(.tryAgain("The server has more connections than it can serve"))
        case .idle, .queue, .nothing:
            let stream = stream
            // Removed from the site at once, not at the end of the turn.
            detach()
            stream?.abort()
        }
    }
}

// Requests that wait for their responses.
extension HTTPConnection {
    /// The time since which the oldest request has waited for its response; nil without any.
    var unansweredSince: MonotonicTime? {
        guard let stream, stream.isOpen, !stream.isClosing else { return nil }
        return first?.waitsSince
    }

    /// Answers the requests that have waited since a time, or for longer, with 503.
    func refuseUnanswered(since latest: MonotonicTime) {
        while let exchange = first, let since = exchange.waitsSince, since <= latest, stream != nil
        {
            exchange.respond(.unanswered("The server has not answered in time"))
        }
    }

    /// Answers all requests with 503, and closes the connection.
    fileprivate func refuseUnanswered() {
        stopReading()
        while let exchange = first, stream != nil {
            exchange.respond(.unanswered("The server has more connections than it can serve"))
        }
    }
}

extension HTTPSite {
    /// Returns the connections with requests that wait for their responses, and the time since which each waits.
    private func unansweredConnections() -> [(connection: HTTPConnection, since: MonotonicTime)] {
        connectionList.compactMap { connection in
            connection.unansweredSince.map { (connection, $0) }
        }
    }

    /// Schedules the timeout of a request that is not answered at once, and returns the current time.
    func watchAnswers() -> MonotonicTime {
        answers.watch(self)
        return reactor.now
    }
}

/// The timeout of the requests of one site that wait for their responses.
final class AnswerTimer: TimerTarget {
    private weak var site: HTTPSite?

    /// Starts the timer, unless it is running.
    func watch(_ site: HTTPSite) {
        guard self.site == nil else { return }
        self.site = site
        site.reactor.schedule(after: site.timeouts.answer, self)
    }

    /// Answers the requests that have waited for too long.
    ///
    /// The next check is at the earliest remaining deadline, but not before 1/32 of the timeout has passed.
    func timerFired(tag: Int) {
        guard let site = site.take() else { return }
        let now = site.reactor.now
        let latest = now.advanced(by: .zero - site.timeouts.answer)
        var oldest: MonotonicTime?
        for connection in site.connectionList {
            guard let since = connection.unansweredSince else { continue }
            if since <= latest {
                site.responder.answerTimedOut()
                connection.refuseUnanswered(since: latest)
            }
            if let rest = connection.unansweredSince { oldest = min(oldest ?? rest, rest) }
        }
        guard let oldest else { return }
        self.site = site
        let rest = now.duration(to: oldest.advanced(by: site.timeouts.answer))
        site.reactor.schedule(after: max(rest, site.timeouts.answer / 32), self)
    }
}

extension Response {
    /// Returns a 503 response with a Retry-After field, for a request that may have been executed.
    fileprivate static func unanswered(_ reason: String) -> Response {
        var response = Response.text(
            reason + ": it is unknown whether the request is executed\n",
            status: 503
        )
        response.fields.append(Field("Retry-After", "1"))
        return response
    }

    /// Returns a 503 response with a Retry-After field.
    static func tryAgain(_ reason: String) -> Response {
        var response = Response.text(reason + ": try again in a second\n", status: 503)
        response.fields.append(Field("Retry-After", "1"))
        return response
    }
}
