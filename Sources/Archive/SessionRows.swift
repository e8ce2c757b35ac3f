internal import Broker
internal import PusherProtocol
internal import SQLite

/// The rows of sessions, in an archive and in a spool.
struct SessionRows {
    let connection: SQLiteConnection

    // MARK: - Writing

    /// Writes changes, within a transaction.
    func write(_ changes: [SessionChange]) throws(SQLiteError) {
        let insert = try connection.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)")
        let remove = try connection.prepare("DELETE FROM sessions WHERE app = ? AND key = ?")
        for change in changes {
            switch change {
            case .keep(let session):
                try insert.run([
                    .text(session.address.app.text), .blob(SessionCoding.key(of: session.address)),
                    session.parkedAt.map { .integer($0) } ?? .null,
                    .blob(SessionCoding.record(of: session)),
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
                "INSERT INTO session_bounds VALUES (?, ?)",
                [.text(app), .integer(time)]
            )
        }
        try connection.execute(
            "UPDATE life SET has_all_sessions = ?",
            [.integer(sessions.isComplete ? 1 : 0)]
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
        try connection.forEachRow("SELECT * FROM sessions") { row throws(SQLiteError) in
            let address = SessionCoding.address(app: row.text("app"), key: row.blob("key"))
            let session = address.flatMap {
                SessionCoding.session($0, parkedAt: row.integer(at: 2), record: row.blob("record"))
            }
            if let session {
                stored.sessions.append(session)
            } else {
                // Its key may be another one's: nobody knows whose session it was.
                stored.damagedCount += 1
                stored.isComplete = false
            }
        }
        guard stored.isComplete else { return stored }
        try connection.forEachRow("SELECT * FROM session_bounds") { row throws(SQLiteError) in
            let (app, time) = (row.text("app"), row.integer("before_ms"))
            if app.isEmpty {
                stored.unknownBefore = time
            } else {
                stored.evictions[AppID(app)] = time
            }
        }
        return stored
    }
}
