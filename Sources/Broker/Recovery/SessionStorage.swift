import PusherProtocol

/// Storage of sessions that outlive the broker.
extension SessionHome {
    // MARK: - Changes

    /// The number of recorded changes above which forgotten sessions are not recorded.
    private static var forgottenNotesMax: Int { 1 << 17 }

    /// Begins to record which sessions change while they have no connection, for ``takeChanges(upTo:at:)``.
    public mutating func noteChanges() { changed = changed ?? [] }

    /// The number of recorded sessions.
    public var changeCount: Int { changed?.count ?? 0 }

    /// Records that a session is parked, shared or forgotten.
    mutating func note(_ address: SessionAddress) { changed?.insert(address) }

    /// Records that sessions are forgotten.
    ///
    /// Not every one is recorded while nothing can be written; the next start removes the rest from the file.
    mutating func noteForgotten(_ keys: [SessionKey], of app: AppID) {
        guard let noted = changed?.count, noted < Self.forgottenNotesMax else { return }
        for key in keys { changed?.insert(SessionAddress(app: app, key: key)) }
    }

    /// Removes recorded sessions and returns their changes, except those of sessions with a connection, which the
    /// connection reports.
    public mutating func takeChanges(upTo countMax: Int, at moment: Moment) -> [SessionChange] {
        var changes: [SessionChange] = []
        for _ in 0..<countMax {
            guard let address = changed?.popFirst() else { break }
            guard let session = apps[address.app]?[address.key] else {
                changes.append(.remove(address))
                continue
            }
            if let stored = session.stored(address, at: moment) { changes.append(.keep(stored)) }
        }
        return changes
    }

    // MARK: - The end and the beginning of a run

    /// All sessions, and the data that distinguishes forgotten sessions from new ones.
    ///
    /// Complete only once every client is disconnected and the messages between shards are read.
    public func stored(at moment: Moment) -> StoredSessions {
        let offset = moment.calendarOffset
        let unknown = unknownBefore.map { $0 - (calendar.first ?? offset) + offset }
        var stored = StoredSessions(isComplete: true, unknownBefore: unknown)
        for (app, sessions) in apps {
            stored.evictions[app] = sessions.lastEviction.map { $0 + offset }
            for (key, session) in sessions.sessions.all {
                let address = SessionAddress(app: app, key: key)
                if let parked = session.stored(address, at: moment) {
                    stored.sessions.append(parked)
                } else {
                    stored.isComplete = false
                }
            }
            for (key, time) in sessions.forgotten {
                let address = SessionAddress(app: app, key: key)
                stored.sessions.append(
                    StoredSession(address, .forgotten, parkedAt: time + moment.calendarOffset)
                )
            }
        }
        return stored
    }

    /// Adds sessions of an earlier run, before any connection claims one.
    ///
    /// Sessions whose home is another shard are ignored, and one that had a connection counts as parked from now on.
    /// `sessionsMax` returns `nil` for an app that is no longer served.
    public mutating func restore(
        _ stored: StoredSessions,
        on shard: Int,
        at moment: Moment,
        sessionsMax: (AppID) -> Int?
    ) {
        calendar.update(moment)
        for session in stored.sessions.sorted(by: { $0.parkedAt ?? .max < $1.parkedAt ?? .max })
        where session.address.home(among: shardCount) == shard {
            restore(session, isComplete: stored.isComplete, at: moment)
            if session.parkedAt == nil { note(session.address) }
        }
        for (app, time) in stored.evictions {
            apps[app, default: AppSessions()].evicted(at: time - moment.calendarOffset)
        }
        if stored.isComplete {
            let offset = moment.calendarOffset
            unknownBefore = stored.unknownBefore.map { $0 - offset + (calendar.first ?? offset) }
        }
        for app in Array(apps.keys) {
            let countMax = sessionsMax(app).map { max(1, $0 / shardCount) } ?? 0
            while let count = apps[app]?.sessions.count, count > countMax,
                let key = apps[app]?.evictLongestParked()
            {
                apps[app]?.evicted(at: moment.now)
                noteForgotten([key], of: app)
            }
        }
    }

    private mutating func restore(_ stored: StoredSession, isComplete: Bool, at moment: Moment) {
        let (app, key) = (stored.address.app, stored.address.key)
        let parkedAt = stored.parkedAt ?? moment.calendar
        // Setting the calendar back does not keep a session for longer.
        let since = min(moment.now, parkedAt - moment.calendarOffset)
        guard stored.state != .forgotten else {
            apps[app, default: AppSessions()].forget(key, at: since)
            return
        }
        // After a crash, channels may be missing.
        var session = Session(mayLackCursors: stored.mayLackCursors || !isComplete)
        session.socketIDs = stored.socketIDs
        session.answersPings = stored.answersPings
        session.state =
            stored.state == .shared ? .shared(since: since) : .parked(since: since, stored.cursors)
        apps[app, default: AppSessions()].park(session, key, at: since)
    }
}

extension SessionHome.Session {
    /// The session as it is stored; `nil` while it has an owner, whose connection has newer data.
    func stored(_ address: SessionAddress, at moment: SessionHome.Moment) -> StoredSession? {
        let (since, cursors, state): (Int64, [SessionCursor], StoredSession.State)
        switch self.state {
        case .parked(let time, let confirmed):
            (since, cursors, state) = (time, confirmed, .resumable)
        case .shared(let time): (since, cursors, state) = (time, [], .shared)
        case .owned, .yielding: return nil
        }
        return StoredSession(
            address,
            state,
            parkedAt: since + moment.calendarOffset,
            cursors,
            socketIDs: socketIDs,
            mayLackCursors: mayLackCursors,
            answersPings: answersPings
        )
    }
}

extension SessionHome.Moment {
    /// The milliseconds to add to the steady clock for the time since 1970.
    var calendarOffset: Int64 { calendar - now }
}
