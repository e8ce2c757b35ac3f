public import PusherProtocol

/// The sessions of stock clients whose home is one shard: the owner of each, and how far it was confirmed when the
/// owner's connection ended.
///
/// A value without I/O, like ``ChannelHome``. All times are milliseconds of one steady clock, except calendar times
/// where stated.
public struct SessionHome: Sendable {
    /// An effect that the caller has to perform.
    public enum Effect: Sendable {
        /// Send the answer to the shard of the claiming connection.
        case answer(SessionAnswer, SessionAddress, to: SocketID)
        /// Request the cursors of this connection; ``receive(_:at:)`` follows.
        ///
        /// Its confirmations count as they were when another connection was opened, in nanoseconds.
        case requestYield(SessionAddress, from: SocketID, openedAt: Int64)
        /// Notify this connection that another one uses its token.
        case tellShared(SessionAddress, SocketID)
        /// Count that a limit was reached.
        case limitMet(Limit, of: AppID)
    }

    /// The clocks of one moment.
    public struct Moment: Sendable {
        /// Milliseconds of the steady clock.
        public var now: Int64
        /// Milliseconds since 1970.
        public var calendar: Int64

        /// Creates a moment.
        public init(now: Int64, calendar: Int64) {
            self.now = now
            self.calendar = calendar
        }
    }

    var apps: [AppID: AppSessions] = [:]
    let shardCount: Int
    /// The time before which unknown sessions may have existed, by the calendar as first read; `nil` for none.
    var unknownBefore: Int64?
    var calendar = SessionCalendar()
    /// When the last session was forgotten among the sessions that left no record.
    private var lastForgotten: Int64?
    /// The sessions that have changed while they have no connection; `nil` if changes are not recorded.
    var changed: Set<SessionAddress>?

    /// Creates a home without sessions.
    ///
    /// - Parameters:
    ///   - shardCount: The number of shards, which divide each app's limit among themselves.
    ///   - start: The start of the broker, in milliseconds since 1970; `nil` if there were no sessions before it.
    public init(shardCount: Int = 1, start: Int64?) {
        self.shardCount = shardCount
        unknownBefore = start
    }

    /// Reads the calendar, to notice when it is set.
    public mutating func readCalendar(at moment: Moment) { calendar.update(moment) }

    /// The number of sessions, including parked ones.
    public var count: Int { apps.values.reduce(0) { $0 + $1.sessions.count } }

    /// The number of an app's sessions, including parked ones.
    package func count(of app: AppID) -> Int { apps[app]?.sessions.count ?? 0 }

    /// The size of the positions of an app's parked sessions, in bytes.
    package func byteCount(of app: AppID) -> Int { apps[app]?.byteCount ?? 0 }

    /// Whether ``removeExpired(at:ageMax:)`` has nothing to remove, now or later.
    public var isEmpty: Bool { apps.isEmpty }

    // MARK: - Ownership

    /// Makes a connection the owner of its session, and returns the effects to perform.
    ///
    /// The answer is returned only after the cursors of a connected former owner have arrived.
    public mutating func claim(
        _ claim: SessionClaim,
        _ settings: RecoverySettings,
        at moment: Moment
    ) -> [Effect] {
        calendar.update(moment)
        let (app, key) = (claim.address.app, claim.address.key)
        var sessions = apps.removeValue(forKey: app) ?? AppSessions()
        defer { apps[app] = sessions }
        sessions.byteCountMax = max(1, settings.sessionBytesMax / shardCount)
        guard var session = sessions[key] else {
            return begin(claim, &sessions, settings, at: moment)
        }
        var effects: [Effect] = []
        switch session.state {
        case .shared:
            session.state = .shared(since: moment.now)
            sessions.park(session, key, at: moment.now)
            note(claim.address)
            return [.answer(.shared, claim.address, to: claim.socketID)]
        case .parked(_, let cursors):
            effects = [
                .answer(.owned(session.resumption(cursors)), claim.address, to: claim.socketID)
            ]
            session.own(claim)
        case .owned(let owner):
            guard claim.openedAt >= owner.openedAt else {
                return [.answer(.superseded, claim.address, to: claim.socketID)]
            }
            effects = [
                .requestYield(claim.address, from: owner.socketID, openedAt: claim.openedAt)
            ]
            session.state = .yielding(from: owner.socketID, to: Owner(claim))
        case .yielding(let former, let next):
            guard claim.openedAt >= next.openedAt else {
                return [.answer(.superseded, claim.address, to: claim.socketID)]
            }
            effects = [.answer(.superseded, claim.address, to: next.socketID)]
            session.remember(next.socketID)
            session.state = .yielding(from: former, to: Owner(claim))
        }
        sessions[key] = session
        return effects
    }

    /// Stores the cursors of a connection that has ended, or that another one has superseded.
    ///
    /// Those of a connection that is no longer the owner are out of date.
    public mutating func receive(_ handover: SessionHandover, at now: Int64) -> [Effect] {
        let (app, key) = (handover.address.app, handover.address.key)
        guard var session = apps[app]?[key] else { return [] }
        var effects: [Effect] = []
        switch session.state {
        case .owned(let owner) where owner.socketID == handover.socketID:
            session.take(handover)
            session.state = .parked(since: now, handover.cursors)
            if apps[app]?.mayPark(session.parkedByteCount, of: session.addressDigest) == false {
                session.state = .parked(since: now, [])
                session.mayLackCursors = true
                effects = [.limitMet(.sessionBytes, of: app)]
            }
            apps[app]?.park(session, key, at: now)
            note(handover.address)
        case .yielding(handover.socketID, let next):
            session.take(handover)
            let answer = SessionAnswer.owned(session.resumption(handover.cursors))
            effects = [.answer(answer, handover.address, to: next.socketID)]
            session.remember(next.socketID)
            session.state = .owned(next)
            apps[app]?[key] = session
        default: break
        }
        return effects
    }

    /// Called when a superseded connection has answered a ping, so that two connected clients use the token.
    public mutating func isAlive(
        _ socketID: SocketID,
        _ address: SessionAddress,
        at now: Int64
    ) -> [Effect] {
        guard var session = apps[address.app]?[address.key] else { return [] }
        var effects = [Effect.tellShared(address, socketID)]
        switch session.state {
        case .shared, .parked: break
        case .owned(let owner): effects.append(.tellShared(address, owner.socketID))
        case .yielding(let former, let next):
            effects.append(.tellShared(address, former))
            effects.append(.answer(.shared, address, to: next.socketID))
        }
        session.state = .shared(since: now)
        apps[address.app]?.park(session, address.key, at: now)
        note(address)
        return effects
    }

    // MARK: - New and unknown sessions

    private mutating func begin(
        _ claim: SessionClaim,
        _ sessions: inout AppSessions,
        _ settings: RecoverySettings,
        at moment: Moment
    ) -> [Effect] {
        let mayLackCursors = !isNew(claim, sessions, settings, at: moment)
        var effects: [Effect] = []
        let sessionsMax = max(1, settings.sessionsMax / shardCount)
        if sessions.sessions.count >= sessionsMax {
            effects.append(.limitMet(.recoverySessions, of: claim.address.app))
            sessions.evicted(at: moment.now)
            let evicted = sessions.evict(for: claim.addressDigest, sessionsMax: sessionsMax)
            guard let evicted else {
                let answer = SessionAnswer.full(
                    sessionsMax: settings.sessionsMax,
                    mayLackCursors: mayLackCursors
                )
                return effects + [.answer(answer, claim.address, to: claim.socketID)]
            }
            noteForgotten([evicted], of: claim.address.app)
        }
        var session = Session(mayLackCursors: mayLackCursors)
        let answer = SessionAnswer.owned(session.resumption([]))
        session.own(claim)
        sessions[claim.address.key] = session
        return effects + [.answer(answer, claim.address, to: claim.socketID)]
    }

    /// Whether an unknown session is certainly new.
    ///
    /// It is if its token was created after everything that this home may have forgotten, by each calendar. It is also
    /// if the token was just created by one calendar, and nothing was forgotten for so long that the calendars do not
    /// matter.
    private func isNew(
        _ claim: SessionClaim,
        _ sessions: AppSessions,
        _ settings: RecoverySettings,
        at moment: Moment
    ) -> Bool {
        guard sessions.forgotten[claim.address.key] == nil else { return false }
        let unknown = unknownBefore.map { $0 - (calendar.first ?? 0) }
        let forgottenUntil = [unknown, sessions.lastEviction].compactMap { $0 }.max()
        let offsets = calendar.offsets
        let isNew = offsets.allSatisfy { offset in
            claim.isNew(
                behind: forgottenUntil.map { $0 + offset },
                sessionAge: settings.sessionAge,
                at: moment.now + offset
            )
        }
        guard !isNew, offsets.count > 1 else { return isNew }
        let last = [forgottenUntil, lastForgotten].compactMap { $0 }.max()
        return moment.now - (last ?? .min / 2) > calendar.spread + 2 * SessionClaim.clockTolerance
            && offsets.contains {
                (claim.createdAt &- moment.now &- $0).magnitude <= SessionClaim.clockTolerance
            }
    }

    /// Forgets the sessions that have been parked for longer than the app's limit, in seconds.
    ///
    /// `ageMax` returns `nil` for an app that is no longer served.
    public mutating func removeExpired(at moment: Moment, ageMax: (AppID) -> Int?) {
        calendar.update(moment)
        // As long as a token of such a session could count as a new one.
        let tolerance = SessionClaim.clockTolerance
        let memory = tolerance + (calendar.spread == 0 ? 0 : calendar.spread + tolerance)
        for app in Array(apps.keys) {
            let ageMax = Int64(ageMax(app) ?? 0) * 1_000
            let forgotten = apps[app]?.removeExpired(at: moment, ageMax: ageMax) ?? []
            noteForgotten(forgotten, of: app)
            if let last = apps[app]?.removeForgotten(before: moment.now - memory) {
                lastForgotten = max(lastForgotten ?? last, last)
            }
            if apps[app]?.isEmpty == true { apps[app] = nil }
        }
    }
}
