public import HTTP1
public import Net

/// What the HTTP connections of one loop share: who answers, limits, and the date.
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
    /// Streams that were refused behind their upgrade; they count as connections until they have ended.
    let draining: DrainingStreams
    /// The date of the current second, written once for all answers of that second.
    private var date: (unixTime: Int64, bytes: [UInt8])
    /// An exchange that is answered and that nobody has any more, for the next request.
    var spareExchange: HTTPExchange?
    /// Changed for each connection by ``add(_:)`` and ``remove(_:)`` alone, which nothing calls back: access is unchecked.
    @exclusivity(unchecked) private var connections: [HTTPConnection] = []
    /// Runs while there may be an idle connection, to the deadline of the first.
    private var idleTimer: TimerID?
    private let idleNanoseconds: Int64

    /// Whether ``finish()`` has been called: each connection's next answer is its last.
    private(set) var isFinishing = false

    /// Makes a site without connections.
    ///
    /// - Parameters:
    ///   - reactor: The reactor whose streams the site accepts.
    ///   - limits: What a client may make us read and keep.
    ///   - timeouts: How long it may take.
    ///   - connectionsMax: How many connections there may be before ``hasRoom()`` says no; those that are upgraded do
    ///     not count any more.
    ///   - draining: Where streams go that are refused behind their upgrade: they count until they have ended.
    ///   - unansweredMax: How many requests of a connection may be unanswered before it is no
    ///     longer read; at least 1.
    ///   - responder: Who answers.
    public init(
        reactor: Reactor,
        limits: HTTPLimits = HTTPLimits(),
        timeouts: HTTPTimeouts = HTTPTimeouts(),
        connectionsMax: Int = .max,
        draining: DrainingStreams = DrainingStreams(),
        unansweredMax: Int = 32,
        responder: any HTTPResponder
    ) {
        precondition(unansweredMax > 0, "a connection has at least one request")
        self.reactor = reactor
        self.limits = limits
        self.timeouts = timeouts
        self.connectionsMax = connectionsMax
        self.draining = draining
        self.unansweredMax = unansweredMax
        self.responder = responder
        idleNanoseconds = MonotonicTime(nanoseconds: 0).advanced(by: timeouts.idle).nanoseconds
        date = (reactor.unixTime, HTTPDate.encode(unixTime: reactor.unixTime))
    }

    /// The number of connections that speak HTTP, or are about to, behind their TLS handshake.
    ///
    /// Those upgraded are no longer among them, unless they were refused then and have not ended.
    public var connectionCount: Int { connections.count + draining.count }

    /// Makes the owner of a new stream, which counts from here on, through its TLS handshake: what `Reactor.listen` takes
    /// as `accept`.
    ///
    /// - Parameter stream: The stream.
    /// - Returns: Its owner.
    public func accept(_ stream: Stream) -> any StreamDelegate {
        let connection = HTTPConnection(site: self, stream: stream)
        add(connection)
        return connection
    }

    /// Closes idle connections now and the others after their next answer.
    ///
    /// ``connectionCount`` is zero when all are gone. The listener is not the site's: close it
    /// first, for connections accepted later are closed after their first answer.
    public func finish() {
        guard !isFinishing else { return }
        isFinishing = true
        for connection in connections { connection.closeIfIdle() }
    }

    /// Looks at a connection that becomes idle now when its time is over.
    ///
    /// - Returns: Its deadline, past which it is closed sooner or later: see ``timerFired(tag:)``.
    func watchIdle() -> MonotonicTime {
        // All wait equally long, so one that runs already is for an earlier deadline.
        if idleTimer == nil { idleTimer = reactor.schedule(after: timeouts.idle, self) }
        let (deadline, overflow) = reactor.now.nanoseconds.addingReportingOverflow(idleNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : deadline)
    }

    /// The connections whose clients are waited for, and since when.
    func waitingConnections() -> [(connection: HTTPConnection, since: MonotonicTime)] {
        connections.compactMap { connection in connection.waitingSince.map { (connection, $0) } }
    }

    /// The date of this turn, as ``HTTP1/HTTPDate`` writes it.
    func currentDate() -> [UInt8] {
        let unixTime = reactor.unixTime
        if date.unixTime != unixTime { date = (unixTime, HTTPDate.encode(unixTime: unixTime)) }
        return date.bytes
    }

    /// Enters a connection.
    func add(_ connection: HTTPConnection) {
        connection.place = connections.count
        connections.append(connection)
    }

    /// Forgets a connection; the last one takes its place.
    func remove(_ connection: HTTPConnection) {
        guard let place = connection.place else { return }
        connection.place = nil
        let last = connections.removeLast()
        guard last !== connection else { return }
        last.place = place
        connections[place] = last
    }
}

extension HTTPSite: TimerTarget {
    /// Called by the reactor: closes the connections that have been idle for too long.
    ///
    /// The next look is at the first deadline that is left, but not before a 32nd of the timeout: connections are
    /// closed late by no more than that, and however many there are, few looks are taken.
    public func timerFired(tag: Int) {
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
