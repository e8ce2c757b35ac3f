import Broker
import Net
package import PusherProtocol

/// The sessions of stock clients with a token: those claimed by connections of this shard, and those whose home it is.
///
/// It carries the messages between both, and checks superseded connections.
package final class SessionService: TimerTarget {
    private let context: ShardContext
    private let connections: Connections
    /// The sessions whose home is this shard; none in a cluster.
    let local: LocalSessions
    /// Decides about them: the shard, unless the nodes of a cluster share them.
    var authority: any SessionAuthority
    /// Stores sessions for a crash, in the archive or in the cluster; `nil` without either.
    private(set) var checkpoints: SessionCheckpoints?
    /// The connections of this shard that others have superseded, in that order.
    private var superseded: [Superseded] = []
    private var isCheckTimerRunning = false

    /// A connection that another one has superseded.
    private struct Superseded {
        let socketID: SocketID
        let since: Int64
        var isAsked = false
    }

    /// The time between two checks of superseded connections.
    private static var checkInterval: Duration { .milliseconds(500) }
    /// The time after which a superseded connection is pinged, because its client may be about to close it.
    private static var checkDelay: Int64 { 2_000 }
    /// The time after which a superseded connection that has not answered is closed.
    private static var checkTimeout: Int64 { 12_000 }

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
        local = LocalSessions(context)
        authority = local
        local.service = self
        guard context.archive != nil || context.settings.cluster != nil else { return }
        checkpoints = SessionCheckpoints(context, self)
    }

    /// Whether no session is remembered, no superseded connection is awaited, and no timer is running.
    var isAtRest: Bool {
        local.isAtRest && superseded.isEmpty && !isCheckTimerRunning
            && checkpoints?.isAtRest ?? true
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
            let handover = connection.yieldSession(at: openedAt / 1_000_000)
        else { return }
        check(id)
        send(.handOver(handover), toHomeOf: address)
    }

    // MARK: - Superseded connections

    private func check(_ id: SocketID) {
        superseded.append(Superseded(socketID: id, since: context.milliseconds))
        startCheckTimer()
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
        // Without the app, the connection is being closed with it.
        case .claim(let claim) where context.registry.apps[claim.address.app] == nil: break
        case .claim(let claim): authority.claim(claim)
        case .handOver(let handover): authority.park(handover)
        case .isAlive(let address, let socketID): authority.share(address, socketID)
        case .answer(let answer, let address, let socketID):
            receive(answer, address, for: socketID)
        case .yield(let address, let socketID, let openedAt):
            yield(address, socketID, openedAt: openedAt)
        case .checkpoint(let session): authority.keep(session)
        case .requestCheckpoint(_, let socketID):
            if let connection = connections[socketID] { checkpoints?.changed(connection) }
        case .share(_, let socketID): connections[socketID]?.shareSession()
        }
    }

    // MARK: - The timer

    private func startCheckTimer() {
        guard !isCheckTimerRunning, !superseded.isEmpty else { return }
        isCheckTimerRunning = true
        context.reactor.schedule(after: Self.checkInterval, self)
    }

    package func timerFired(tag: Int) {
        isCheckTimerRunning = false
        checkSuperseded()
        startCheckTimer()
    }
}
