import HTTP1
import Net

// Eviction: closing inactive connections when the site has as many as it may.
extension HTTPSite {
    /// How long a connection may be inactive while the site is full.
    static var graceTime: Duration { .seconds(1) }
    /// The most connections that are evicted at a time.
    private static var evictedCountMax: Int { 64 }

    /// Returns whether one more connection may be accepted, for the `hasCapacity` of `Reactor.listen`.
    ///
    /// If the site is full, refused connections that have not closed yet are aborted first, oldest first, since their
    /// clients have got the reason. Then those are evicted that have waited for their clients the longest, and for at
    /// least a second. So connections that send nothing block new ones for no longer than that, and active ones are not
    /// closed; meanwhile new connections wait in the kernel's backlog.
    public func hasCapacity() -> Bool {
        while connectionCount >= connectionsMax, draining.abortOldest() {
            responder.connectionEvicted()
        }
        guard connectionCount >= connectionsMax else { return true }
        let latest = reactor.now.advanced(by: .zero - Self.graceTime)
        var candidates = waitingConnections().filter { $0.since <= latest }
        guard !candidates.isEmpty else { return false }
        candidates.sort { $0.since < $1.since }
        for (connection, _) in candidates.prefix(Self.evictedCountMax) {
            connection.evict()
            responder.connectionEvicted()
        }
        // A connection that gets a 503 counts until that is sent.
        return connectionCount < connectionsMax
    }
}

extension HTTPConnection {
    /// The time since which the connection has waited for the client: for its handshake, its request, reading its
    /// answers, or its end after the last answer; nil while it waits for the server.
    var waitingSince: MonotonicTime? {
        guard let stream else { return nil }
        guard !stream.isClosing else { return deadline }
        switch wait {
        case .idle, .head, .body, .queue:
            return deadline.advanced(by: .zero - limit(of: wait))
        case .nothing:
            return stream.isOpen ? nil : deadline
        }
    }

    /// Closes the connection: silently between two requests, as HTTP allows (RFC 9112 §9.5), or with 503 during one.
    func evict() {
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

extension Response {
    /// Returns a 503 response with a Retry-After field.
    static func tryAgain(_ reason: String) -> Response {
        var response = Response.text(reason + ": try again in a second\n", status: 503)
        response.fields.append(Field("Retry-After", "1"))
        return response
    }
}
