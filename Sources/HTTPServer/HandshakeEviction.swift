import HTTP1
import Net

// What happens when as many connections as may be are in their handshakes, in requests, or between two.
extension HTTPSite {
    /// How long a connection may do nothing although others wait for its place.
    static var graceTime: Duration { .seconds(1) }
    /// Connections that are closed for others at one look at all of them.
    private static var displacedCountMax: Int { 64 }

    /// Whether one more connection may be accepted: what `Reactor.listen` takes as `hasRoom`.
    ///
    /// If there is none, refused clients that have not closed yet make room at once, oldest first: they have been told
    /// why. Then those do whose clients have been waited for the longest, and for a second at least.
    /// So a crowd that connects and does nothing keeps nobody out for longer than that, and nobody who is about to say
    /// something is closed: meanwhile newcomers wait in the backlog of the kernel.
    public func hasRoom() -> Bool {
        while connectionCount >= connectionsMax, draining.abortOldest() {
            responder.connectionDisplaced()
        }
        guard connectionCount >= connectionsMax else { return true }
        let latest = reactor.now.advanced(by: .zero - Self.graceTime)
        var silent = waitingConnections().filter { $0.since <= latest }
        guard !silent.isEmpty else { return false }
        silent.sort { $0.since < $1.since }
        for (connection, _) in silent.prefix(Self.displacedCountMax) {
            connection.giveWay()
            responder.connectionDisplaced()
        }
        // Who is told why keeps the place until that is sent.
        return connectionCount < connectionsMax
    }
}

extension HTTPConnection {
    /// Since when the client has been waited for: to shake hands, to ask, to read, or to close behind its last answer;
    /// nil when it is our turn.
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

    /// Makes room: silently between two requests, as HTTP allows (RFC 9112 §9.5), and with 503 inside of one.
    func giveWay() {
        let isAnswered = unfinished?.reading.isDiscarding == true
        switch stream?.isOpen == true && !isAnswered ? wait : .nothing {
        case .head, .body:
            respondLast(.tryAgain("The server has more connections than it can serve"))
        case .idle, .queue, .nothing:
            let stream = stream
            // The place is free at once, and not at the end of the turn.
            leave()
            stream?.abort()
        }
    }
}

extension Response {
    /// A refusal for lack of room, with when to try again.
    static func tryAgain(_ reason: String) -> Response {
        var response = Response.text(reason + ": try again in a second\n", status: 503)
        response.fields.append(Field("Retry-After", "1"))
        return response
    }
}
