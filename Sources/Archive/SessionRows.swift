internal import Broker
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// The rows of sessions, in an archive and in a spool.
struct SessionRows {
    let connection: SQLiteConnection
    /// What to add to a time of the calendar for that of the file, in milliseconds (``ArchiveClock``).
    var skew: Int64 = 0

    // MARK: - Writing

    /// Writes changes, within a transaction.
    func write(_ changes: [SessionChange]) throws(SQLiteError) {
        let insert = try connection.prepare(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)"
        )
        let remove = try connection.prepare("DELETE FROM sessions WHERE app = ? AND key = ?")
        for change in changes {
            switch change {
            case .keep(let session):
                let (app, key) = (session.address.app.text, SessionCoding.key(of: session.address))
                let parkedAt = session.parkedAt.map { $0 &+ skew }
                try insert.run([
                    .text(app), .blob(key), parkedAt.map { .integer($0) } ?? .null,
                    .blob(SessionCoding.record(of: session)),
                    .integer(RowChecksum.session(app: app, key: key, parkedAt: parkedAt)),
                ])
            case .remove(let address):
                try remove.run([.text(address.app.text), .blob(SessionCoding.key(of: address))])
            }
        }
    }

    /// Writes the sessions of a run that has ended, within a transaction.
    ///
    /// If they are not complete, those written before stay: their cursors are older, and skip nothing.
    func writeAll(_ sessions: StoredSessions) throws(SQLiteError) {
        if sessions.isComplete { try connection.execute("DELETE FROM sessions") }
        try write(sessions.sessions.map(SessionChange.keep))
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

    /// The checksum of the numbers of rows: a session that is missing is not taken for a new one.
    func checksum() throws(SQLiteError) -> Int64 {
        RowChecksum.numbers(
            try connection.integer("SELECT COUNT(*) FROM sessions") ?? 0,
            try connection.integer("SELECT COUNT(*) FROM session_bounds") ?? 0
        )
    }

    // MARK: - Reading

    /// Reads all sessions.
    ///
    /// - Parameter isComplete: Whether the last run has written them all.
    /// - Returns: The sessions; without damaged ones, so that their tokens are unknown.
    /// - Throws: SQLite's error.
    func read(isComplete: Bool) throws(SQLiteError) -> StoredSessions {
        var stored = StoredSessions(isComplete: isComplete)
        try connection.forEachRow("SELECT app, key, parked_ms, record, crc FROM sessions") {
            row throws(SQLiteError) in
            if let session = session(row) {
                stored.sessions.append(session)
            } else {
                // Its key may be another one's: nobody knows whose session it was.
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
