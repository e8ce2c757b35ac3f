import Broker
import Net
package import PusherProtocol

/// The sessions of stock clients with a token: those claimed by connections of this shard, and those whose home it is.
///
/// `SessionHome` decides, and this class performs its effects; in a cluster Redis decides for all nodes.
package final class SessionService: TimerTarget {
    private let context: ShardContext
    private let connections: Connections
    private(set) var home: SessionHome
    /// The replacement of ``home`` in a cluster.
    var cluster: (any SharedSessionHome)?
    /// Stores sessions for a crash, in the archive or in the cluster; `nil` without either.
    private(set) var checkpoints: SessionCheckpoints?
    /// The connections of this shard that others have superseded, in that order.
    private var superseded: [Superseded] = []
    private var areTimersRunning = (expiry: false, checks: false)

    /// A connection that another one has superseded.
    private struct Superseded {
        let socketID: SocketID
        let since: Int64
        var isAsked = false
    }

    private enum Task: Int { case expiry, checks }

    /// The time between two removals of expired sessions.
    private static var expiryInterval: Duration { .seconds(15) }
    /// The time between two checks of superseded connections.
    private static var checkInterval: Duration { .milliseconds(500) }
    /// The time after which a superseded connection is pinged, because its client may be about to close it.
    private static var checkDelay: Int64 { 2_000 }
    /// The time after which a superseded connection that has not answered is closed.
    private static var checkTimeout: Int64 { 12_000 }

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
        home = SessionHome(
            shardCount: context.shardCount,
            start: context.reactor.unixMilliseconds
        )
        home.readCalendar(at: moment)
        guard context.archive != nil || context.settings.cluster != nil else { return }
        if context.archive != nil { home.noteChanges() }
        checkpoints = SessionCheckpoints(context, self)
    }

    /// Whether no session is remembered, no superseded connection is awaited, and no timer is running.
    var isAtRest: Bool {
        home.isEmpty && superseded.isEmpty && !areTimersRunning.expiry && !areTimersRunning.checks
            && checkpoints?.isAtRest ?? true
    }

    private var moment: SessionHome.Moment {
        SessionHome.Moment(now: context.milliseconds, calendar: context.reactor.unixMilliseconds)
    }

    // MARK: - Connections of this shard

    /// Claims the session of a connection's token.
    func claim(_ claim: SessionClaim) { send(.claim(claim), toHomeOf: claim.address) }

    /// Parks the cursors of a connection that has ended.
    func park(_ handover: SessionHandover) { send(.handOver(handover), toHomeOf: handover.address) }

    /// Reports that a superseded connection has answered.
    func isAlive(_ connection: Connection, _ address: SessionAddress) {
        superseded.removeAll { $0.socketID == connection.socketID }
        send(.isAlive(address, connection.socketID), toHomeOf: address)
    }

    private func receive(_ answer: SessionAnswer, _ address: SessionAddress, for id: SocketID) {
        guard let connection = connections[id], !connection.isClosing else {
            guard case .owned(let resumption) = answer else { return }
            // It has closed meanwhile; the session keeps its cursors.
            let handover = SessionHandover(
                address,
                from: id,
                resumption.cursors,
                mayLackCursors: resumption.mayLackCursors,
                answersPings: resumption.answersPings
            )
            return park(handover)
        }
        connection.receive(answer)
        checkpoints?.changed(connection)
        if case .superseded = answer { check(id) }
    }

    private func yield(_ address: SessionAddress, _ id: SocketID, openedAt: Int64) {
        // If it has closed meanwhile, its cursors are on the same link.
        guard let connection = connections[id],
            let handover = connection.yieldSession(openedAt: openedAt / 1_000_000)
        else { return }
        check(id)
        send(.handOver(handover), toHomeOf: address)
    }

    // MARK: - Superseded connections

    private func check(_ id: SocketID) {
        superseded.append(Superseded(socketID: id, since: context.milliseconds))
        startTimers()
    }

    private func checkSuperseded() {
        let now = context.milliseconds
        var rest: [Superseded] = []
        for var entry in exchange(&superseded, with: []) {
            guard let connection = connections[entry.socketID], !connection.isClosing else {
                continue
            }
            if !entry.isAsked, now - entry.since >= Self.checkDelay {
                guard connection.checkLife() else { continue }
                entry.isAsked = true
            } else if now - entry.since >= Self.checkTimeout {
                context.limitMet(.pongTime, of: connection.app.id)
                connection.close(.pongNotReceived, message: "Pong reply not received")
                continue
            }
            rest.append(entry)
        }
        superseded = rest + superseded
    }

    // MARK: - Messages

    /// Sends the sessions as their owners have them to the homes in the cluster.
    func sendCheckpoints(_ changes: [SessionChange]) {
        for case .keep(let session) in changes {
            send(.checkpoint(session), toHomeOf: session.address)
        }
    }

    private func send(_ message: SessionMessage, toHomeOf address: SessionAddress) {
        let shard = context.home(of: address)
        guard shard != context.shard else { return receive(message) }
        context.links.send(.sessions(message), to: shard)
    }

    /// Sends a message from the home of a session to a connection.
    package func send(_ message: SessionMessage, toShardOf socketID: SocketID) {
        let shard = context.shard(of: socketID)
        guard shard != context.shard else { return receive(message) }
        context.links.send(.sessions(message), to: shard)
    }

    /// Handles a message to the home of a session, or from one.
    func receive(_ message: SessionMessage) {
        switch message {
        case .claim(let claim):
            guard let app = context.registry.apps[claim.address.app] else {
                // The connection is being closed with its app.
                return
            }
            if let cluster { return cluster.claim(claim) }
            perform(home.claim(claim, app.recovery, at: moment))
        case .handOver(let handover):
            if let cluster { return cluster.park(handover) }
            perform(home.receive(handover, at: context.milliseconds))
        case .isAlive(let address, let socketID):
            if let cluster { return cluster.share(address, socketID) }
            perform(home.isAlive(socketID, address, at: context.milliseconds))
        case .answer(let answer, let address, let socketID):
            receive(answer, address, for: socketID)
        case .yield(let address, let socketID, let openedAt):
            yield(address, socketID, openedAt: openedAt)
        case .checkpoint(let session): cluster?.keep(session)
        case .requestCheckpoint(_, let socketID):
            if let connection = connections[socketID] { checkpoints?.changed(connection) }
        case .share(_, let socketID): connections[socketID]?.shareSession()
        }
    }

    private func perform(_ effects: [SessionHome.Effect]) {
        for effect in effects {
            switch effect {
            case .answer(let answer, let address, let socketID):
                send(.answer(answer, address, to: socketID), toShardOf: socketID)
            case .requestYield(let address, let socketID, let openedAt):
                let message = SessionMessage.yield(address, from: socketID, openedAt: openedAt)
                send(message, toShardOf: socketID)
            case .tellShared(let address, let socketID):
                send(.share(address, socketID), toShardOf: socketID)
            case .limitMet(let limit, let app): context.limitMet(limit, of: app)
            }
        }
        startTimers()
    }

    // MARK: - Storage

    /// The sessions whose home is this shard.
    var stored: StoredSessions { home.stored(at: moment) }

    /// Adds sessions of an earlier run; see ``SessionHome/restore(_:on:at:sessionsMax:)``.
    func restore(_ stored: StoredSessions) {
        home.restore(stored, on: context.shard, at: moment) {
            context.registry.apps[$0]?.recovery.sessionsMax
        }
        startTimers()
    }

    /// Removes and returns changes of sessions that have no connection.
    func takeChanges(upTo countMax: Int) -> [SessionChange] {
        home.takeChanges(upTo: countMax, at: moment)
    }

    // MARK: - Timers

    private func startTimers() {
        checkpoints?.homeChanged()
        if !areTimersRunning.expiry, !home.isEmpty {
            areTimersRunning.expiry = true
            context.reactor.schedule(after: Self.expiryInterval, self, tag: Task.expiry.rawValue)
        }
        if !areTimersRunning.checks, !superseded.isEmpty {
            areTimersRunning.checks = true
            context.reactor.schedule(after: Self.checkInterval, self, tag: Task.checks.rawValue)
        }
    }

    package func timerFired(tag: Int) {
        switch Task(rawValue: tag) {
        case .expiry:
            areTimersRunning.expiry = false
            home.removeExpired(at: moment) {
                context.registry.apps[$0]?.recovery.sessionAge
            }
        case .checks:
            areTimersRunning.checks = false
            checkSuperseded()
        case nil: break
        }
        startTimers()
    }
}
