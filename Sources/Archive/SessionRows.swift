internal import Broker
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// The rows of sessions, in an archive and in a spool.
struct SessionRows {
    let connection: SQLiteConnection
    /// The milliseconds to add to a time of the calendar for that of the file (``ArchiveClock``).
    var skew: Int64 = 0

    // MARK: - Writing

    /// The approximate size of the pages that the sessions take, in bytes.
    func byteCount() throws(SQLiteError) -> Int {
        var sum = 0
        try connection.forEachRow("SELECT LENGTH(record) FROM sessions") {
            row throws(SQLiteError) in
            sum += Self.size(of: Int(row.integer(at: 0) ?? 0))
        }
        return sum
    }

    /// The approximate size of the pages that a record takes, in bytes.
    ///
    /// A page of small records is two thirds full; a long record has its own pages.
    private static func size(of length: Int) -> Int {
        length < 1_000 ? (length + 64) * 3 / 2 : 1_024 + (length + 4_095) / 4_096 * 4_096
    }

    /// The record of a session, within the budget of all.
    ///
    /// A record that finds no room has no cursors; its client gets a gap when it reconnects. Small records always find
    /// room, so that sessions with many channels do not displace those with few.
    private func record(
        of session: StoredSession,
        _ room: Int,
        _ hasMetBudget: inout Bool
    ) -> [UInt8] {
        let record = SessionCoding.record(of: session)
        guard record.count > Self.lengthAlwaysKept, Self.size(of: record.count) > room else {
            return record
        }
        hasMetBudget = true
        var session = session
        (session.cursors, session.mayLackCursors) = ([], true)
        return SessionCoding.record(of: session)
    }

    /// The length of a record that is written even if the budget is full, in bytes.
    static let lengthAlwaysKept = 4_096

    /// Writes changes, within a transaction, and returns whether a record found no room.
    ///
    /// `byteCount` is the size of all sessions, which is updated, and `byteCountMax` its maximum, for records above
    /// ``lengthAlwaysKept``.
    @discardableResult
    func write(
        _ changes: [SessionChange],
        _ byteCount: inout Int,
        atMost byteCountMax: Int
    ) throws(SQLiteError) -> Bool {
        var hasMetBudget = false
        let length = try connection.prepare(
            "SELECT LENGTH(record) FROM sessions WHERE app = ? AND key = ?"
        )
        let insert = try connection.prepare(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)"
        )
        let remove = try connection.prepare("DELETE FROM sessions WHERE app = ? AND key = ?")
        for change in changes {
            let (app, key) = (change.address.app.text, SessionCoding.key(of: change.address))
            let place: [SQLiteValue] = [.text(app), .blob(key[...])]
            var former = 0
            try length.forEachRow(place) { row throws(SQLiteError) in
                former = Self.size(of: Int(row.integer(at: 0) ?? 0))
            }
            byteCount -= former
            switch change {
            case .keep(let session):
                let record = record(of: session, byteCountMax - byteCount, &hasMetBudget)
                let parkedAt = session.parkedAt.map { $0 &+ skew }
                let sum = RowChecksum.session(app: app, key: key, parkedAt: parkedAt)
                try insert.run(
                    place + [
                        parkedAt.map { .integer($0) } ?? .null, .blob(record[...]), .integer(sum),
                    ]
                )
                byteCount += Self.size(of: record.count)
            case .remove: try remove.run(place)
            }
        }
        return hasMetBudget
    }

    /// Writes the sessions of a run that has ended, within a transaction.
    ///
    /// If they are incomplete, those written before stay; their cursors are older, and skip nothing.
    func writeAll(
        _ sessions: StoredSessions,
        atMost byteCountMax: Int = .max
    ) throws(SQLiteError) {
        if sessions.isComplete { try connection.execute("DELETE FROM sessions") }
        var byteCount = try byteCount()
        try write(
            sessions.sessions.map(SessionChange.keep),
            &byteCount,
            atMost: byteCountMax
        )
        try connection.execute("DELETE FROM session_bounds")
        var bounds = sessions.evictions.map { ($0.key.text, $0.value) }
        // No app has an empty ID.
        if let time = sessions.unknownBefore { bounds.append(("", time)) }
        for (app, time) in bounds {
            try connection.execute(
                "INSERT INTO session_bounds VALUES (?, ?, ?)",
                [.text(app), .integer(time), .integer(RowChecksum.bound(app: app, before: time))]
            )
        }
        try connection.execute(
            "UPDATE life SET has_all_sessions = ?, sessions_crc = ?",
            [.integer(sessions.isComplete ? 1 : 0), .integer(try checksum())]
        )
    }

    /// The checksum of the numbers of rows, so that a missing session does not count as a new one.
    func checksum() throws(SQLiteError) -> Int64 {
        RowChecksum.numbers(
            try connection.integer("SELECT COUNT(*) FROM sessions") ?? 0,
            try connection.integer("SELECT COUNT(*) FROM session_bounds") ?? 0
        )
    }

    // MARK: - Reading

    /// Reads all sessions without damaged ones, whose tokens are then unknown.
    ///
    /// `isComplete` is whether the last run has written all of them.
    func read(isComplete: Bool) throws(SQLiteError) -> StoredSessions {
        var stored = StoredSessions(isComplete: isComplete)
        try connection.forEachRow("SELECT app, key, parked_ms, record, crc FROM sessions") {
            row throws(SQLiteError) in
            if let session = session(row) {
                stored.sessions.append(session)
            } else {
                // Its key may be wrong, so its session cannot be identified.
                stored.damagedCount += 1
                stored.isComplete = false
            }
        }
        guard stored.isComplete else { return stored }
        try connection.forEachRow("SELECT app, before_ms, crc FROM session_bounds") {
            row throws(SQLiteError) in
            let (app, time) = (row.text("app"), row.integer("before_ms"))
            guard row.integer("crc") == RowChecksum.bound(app: app, before: time),
                UInt64(safe: time) != nil
            else {
                stored.isComplete = false
                return
            }
            if app.isEmpty {
                stored.unknownBefore = time
            } else {
                stored.evictions[AppID(app)] = time
            }
        }
        return stored
    }

    /// The session of a row; `nil` for a damaged row.
    private func session(_ row: SQLiteRow) -> StoredSession? {
        let (app, key, parkedAt) = (row.text("app"), row.blob("key"), row.integer(at: 2))
        guard row.integer("crc") == RowChecksum.session(app: app, key: key, parkedAt: parkedAt),
            (parkedAt ?? 0).magnitude <= SafeInteger.max.magnitude,
            let address = SessionCoding.address(app: app, key: key)
        else { return nil }
        return SessionCoding.session(
            address,
            parkedAt: parkedAt.map { $0 &- skew },
            record: row.blob("record")
        )
    }
}

extension SessionChange {
    /// The session.
    fileprivate var address: SessionAddress {
        switch self {
        case .keep(let session): session.address
        case .remove(let address): address
        }
    }
}
