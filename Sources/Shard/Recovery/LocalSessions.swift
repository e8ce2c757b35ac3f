import Broker
import Net
import PusherProtocol

/// The sessions of a standalone broker: `SessionHome` decides, and this class performs its effects.
final class LocalSessions: SessionAuthority {
    private let context: ShardContext
    /// Sends its answers, and owns it.
    weak var service: SessionService?
    private(set) var home: SessionHome
    private var isExpiryTimerRunning = false

    /// The time between two removals of expired sessions.
    private static var expiryInterval: Duration { .seconds(15) }

    init(_ context: ShardContext) {
        self.context = context
        home = SessionHome(
            shardCount: context.shardCount,
            start: context.reactor.unixMilliseconds
        )
        home.readCalendar(at: moment)
        if context.archive != nil { home.noteChanges() }
    }

    /// Whether no session is remembered, and no timer is running.
    var isAtRest: Bool { home.isEmpty && !isExpiryTimerRunning }

    private var moment: SessionHome.Moment {
        SessionHome.Moment(now: context.milliseconds, calendar: context.reactor.unixMilliseconds)
    }

    // MARK: - Decisions

    func claim(_ claim: SessionClaim) {
        guard let app = context.registry.apps[claim.address.app] else { return }
        perform(home.claim(claim, app.recovery, at: moment))
    }

    func park(_ handover: SessionHandover) {
        perform(home.receive(handover, at: context.milliseconds))
    }

    func share(_ address: SessionAddress, _ id: SocketID) {
        perform(home.isAlive(id, address, at: context.milliseconds))
    }

    // The archive stores it.
    func keep(_ session: StoredSession) {}

    private func perform(_ effects: [SessionHome.Effect]) {
        for effect in effects {
            switch effect {
            case .answer(let answer, let address, let socketID):
                service?.send(.answer(answer, address, to: socketID), toShardOf: socketID)
            case .requestYield(let address, let socketID, let openedAt):
                let message = SessionMessage.yield(address, from: socketID, openedAt: openedAt)
                service?.send(message, toShardOf: socketID)
            case .tellShared(let address, let socketID):
                service?.send(.share(address, socketID), toShardOf: socketID)
            case .limitMet(let limit, let app): context.limitMet(limit, of: app)
            }
        }
        changed()
    }

    private func changed() {
        service?.checkpoints?.homeChanged()
        guard !isExpiryTimerRunning, !home.isEmpty else { return }
        isExpiryTimerRunning = true
        context.reactor.schedule(after: Self.expiryInterval, self)
    }

    // MARK: - Storage

    /// The sessions whose home is this shard.
    var stored: StoredSessions { home.stored(at: moment) }

    /// Adds sessions of an earlier run; see ``SessionHome/restore(_:on:at:sessionsMax:)``.
    func restore(_ stored: StoredSessions) {
        home.restore(stored, on: context.shard, at: moment) {
            context.registry.apps[$0]?.recovery.sessionsMax
        }
        changed()
    }

    /// Removes and returns changes of sessions that have no connection.
    func takeChanges(upTo countMax: Int) -> [SessionChange] {
        home.takeChanges(upTo: countMax, at: moment)
    }
}

extension LocalSessions: TimerTarget {
    func timerFired(tag: Int) {
        isExpiryTimerRunning = false
        home.removeExpired(at: moment) { context.registry.apps[$0]?.recovery.sessionAge }
        changed()
    }
}
