public import HTTP1
public import Net

/// The shared state of one loop's HTTP connections: the responder, the limits and the date.
///
/// Confined to its reactor's thread.
///
/// ```swift
/// let site = HTTPSite(reactor: reactor, responder: api)
/// let listener = try reactor.listen(on: address, accept: site.accept)
/// ```
public final class HTTPSite {
    let reactor: Reactor
    let responder: any HTTPResponder
    let limits: HTTPLimits
    let timeouts: HTTPTimeouts
    let unansweredMax: Int
    let connectionsMax: Int
    /// Streams that were refused after their upgrade; they count as connections until they have ended.
    let draining: DrainingStreams
    /// The encoded fields of every response.
    let responseFields: [UInt8]
    /// The same with `Keep-Alive`, for responses after which the connection is kept.
    let keptResponseFields: [UInt8]
    /// The encoded date of the current second.
    private var date: (unixTime: Int64, bytes: [UInt8])
    /// An answered exchange without other references, for reuse by the next request.
    var spareExchange: HTTPExchange?
    /// Exclusive access is unchecked: only ``add(_:)`` and ``remove(_:)`` change it, and they make no callbacks.
    @exclusivity(unchecked) private var connections: [HTTPConnection] = []
    /// Copied: answering changes the list.
    var connectionList: [HTTPConnection] { connections }
    /// The timeout of responses.
    let answers = AnswerTimer()
    /// The timer of the earliest idle deadline; nil without idle connections.
    private var idleTimer: TimerID?
    private let idleNanoseconds: Int64
    private let keptNanoseconds: Int64

    /// Whether ``finish()`` has been called, so that each connection's next response is its last.
    private(set) var isFinishing = false

    /// The maximum time for which ``finish()`` keeps a used connection that is idle.
    private static var finishingGrace: Duration { .milliseconds(500) }

    /// Whether each connection's next response is its last.
    ///
    /// It is if the site ends. It is also if connections would have to be evicted soon, because a client that sends a
    /// request at that moment would lose it.
    var endsConnections: Bool {
        isFinishing || connectionCount > connectionsMax - connectionsMax / 8
    }

    /// Makes a site without connections.
    ///
    /// - Parameters:
    ///   - reactor: The reactor whose streams the site accepts.
    ///   - limits: The limits of requests.
    ///   - timeouts: The timeouts for clients.
    ///   - connectionsMax: The maximum number of connections before ``hasCapacity()`` returns false; upgraded ones do
    ///     not count.
    ///   - draining: The streams refused after their upgrade, which count until they have ended.
    ///   - responseFields: Fields that every response has.
    ///   - unansweredMax: The number of unanswered requests at which a connection reads no more; at least 1.
    ///   - responder: The responder to requests.
    public init(
        reactor: Reactor,
        limits: HTTPLimits = HTTPLimits(),
        timeouts: HTTPTimeouts = HTTPTimeouts(),
        connectionsMax: Int = .max,
        draining: DrainingStreams = DrainingStreams(),
        responseFields: [Field] = [],
        unansweredMax: Int = 32,
        responder: any HTTPResponder
    ) {
        precondition(unansweredMax > 0, "a connection has at least one request")
        self.reactor = reactor
        self.limits = limits
        self.timeouts = timeouts
        self.connectionsMax = connectionsMax
        self.draining = draining
        self.responseFields = Response.encode(responseFields)
        let announced = timeouts.announcedSeconds.map { Field("Keep-Alive", "timeout=\($0)") }
        keptResponseFields = Response.encode(responseFields + (announced.map { [$0] } ?? []))
        self.unansweredMax = unansweredMax
        self.responder = responder
        idleNanoseconds = MonotonicTime(nanoseconds: 0).advanced(by: timeouts.idle).nanoseconds
        keptNanoseconds =
            MonotonicTime(nanoseconds: 0).advanced(by: timeouts.idle + timeouts.grace).nanoseconds
        date = (reactor.unixTime, HTTPDate.encode(unixTime: reactor.unixTime))
    }

    /// The number of HTTP connections, including those in their TLS handshake.
    ///
    /// Upgraded connections do not count, unless they were refused afterwards and have not ended.
    public var connectionCount: Int { connections.count + draining.count }

    /// Returns the delegate of a new stream, for the `accept` of `Reactor.listen`.
    ///
    /// The connection counts from here on, including its TLS handshake.
    public func accept(_ stream: Stream, from peer: SocketAddress?) -> any StreamDelegate {
        let connection = HTTPConnection(site: self, stream: stream, peer: peer)
        add(connection)
        return connection
    }

    /// Closes idle connections, and the others after their next response.
    ///
    /// A used connection stays for a grace (``HTTPTimeouts/grace``, at most 500 ms), because its client may be sending
    /// a request. The response to that request closes it.
    ///
    /// ``connectionCount`` is zero when all are closed. Close the listener first, because connections accepted later
    /// are closed only after their first response.
    public func finish() {
        guard !isFinishing else { return }
        isFinishing = true
        let grace = min(timeouts.grace, Self.finishingGrace)
        var isAnyKept = false
        for connection in connections {
            if grace > .zero, connection.isIdleAfterAnswer {
                isAnyKept = true
            } else {
                connection.closeIfIdle()
            }
        }
        if isAnyKept { reactor.schedule(after: grace, self, tag: Self.finishingTag) }
    }

    /// The tag of the timer that ends the grace of ``finish()``.
    private static var finishingTag: Int { 1 }

    /// Schedules the timeout of a connection that becomes idle now.
    ///
    /// - Parameter isKept: Whether it has been used, so that the grace applies.
    /// - Returns: Its deadline; the connection is closed some time after it: see ``timerFired(tag:)``.
    func watchIdle(isKept: Bool) -> MonotonicTime {
        // No connection has an earlier deadline than this timer.
        if idleTimer == nil { idleTimer = reactor.schedule(after: timeouts.idle, self) }
        let (deadline, overflow) = reactor.now.nanoseconds
            .addingReportingOverflow(isKept ? keptNanoseconds : idleNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : deadline)
    }

    /// Whether less than the grace is left until the deadline of a kept connection.
    func isOverdue(until deadline: MonotonicTime) -> Bool {
        timeouts.grace > .zero && reactor.now.advanced(by: timeouts.grace) >= deadline
    }

    /// Returns the connections that wait for their clients, and the time since which each waits.
    func waitingConnections() -> [(connection: HTTPConnection, since: MonotonicTime)] {
        connections.compactMap { connection in connection.waitingSince.map { (connection, $0) } }
    }

    /// Returns the date of this turn, as encoded by ``HTTP1/HTTPDate``.
    func currentDate() -> [UInt8] {
        let unixTime = reactor.unixTime
        if date.unixTime != unixTime { date = (unixTime, HTTPDate.encode(unixTime: unixTime)) }
        return date.bytes
    }

    /// Adds a connection.
    func add(_ connection: HTTPConnection) {
        connection.siteIndex = connections.count
        connections.append(connection)
    }

    /// Removes a connection, whose index the last one takes.
    func remove(_ connection: HTTPConnection) {
        guard let siteIndex = connection.siteIndex else { return }
        connection.siteIndex = nil
        let last = connections.removeLast()
        guard last !== connection else { return }
        last.siteIndex = siteIndex
        connections[siteIndex] = last
    }
}

extension HTTPSite: TimerTarget {
    /// Closes the connections that have been idle for too long; called by the reactor.
    ///
    /// The next check is at the earliest remaining deadline, but not before 1/32 of the timeout has passed. So
    /// connections are closed late by no more than that, and there are few checks whatever the number of connections.
    public func timerFired(tag: Int) {
        if tag == Self.finishingTag {
            for connection in connections { connection.closeIfIdle() }
            return
        }
        idleTimer = nil
        let now = reactor.now
        var next: MonotonicTime?
        for connection in connections where connection.wait == .idle {
            if connection.deadline <= now {
                responder.idleConnectionClosed()
                connection.close()
            } else {
                next = min(next ?? connection.deadline, connection.deadline)
            }
        }
        if let next {
            let delay = max(now.duration(to: next), timeouts.idle / 32)
            idleTimer = reactor.schedule(after: delay, self)
        }
    }
}
