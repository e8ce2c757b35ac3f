import Broker
import PusherProtocol
import SQLite
import Testing

@testable import Archive

@Suite("Sessions in the archive's file") struct SessionRowsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> ArchiveFile {
        try ArchiveFile(ArchiveFile.Settings(path: folder.path(), bootID: "boot"))
    }

    private func read() throws -> StoredSessions { try open().contents(at: 0).sessions }

    /// Changes the rows of a file that nobody has opened.
    private func change(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
        let connection = try SQLiteConnection(path: folder.path(), busyTimeout: 0)
        defer { connection.close() }
        try connection.execute(sql, arguments)
    }

    private func sorted(_ sessions: [StoredSession]) -> [StoredSession] {
        sessions.sorted { $0.address.key.low < $1.address.key.low }
    }

    @Test("A record reads back as it was, and no part of it does") func records() throws {
        var cases = [session(1), session(2, parkedAt: nil)]
        cases.append(StoredSession(session(3).address, .shared, parkedAt: 1))
        cases.append(
            StoredSession(session(4).address, .forgotten, parkedAt: 1, mayLackCursors: true)
        )
        for session in cases {
            let record = SessionCoding.record(of: session)
            func read(_ record: [UInt8]) -> StoredSession? {
                SessionCoding.session(session.address, parkedAt: session.parkedAt, record: record)
            }
            #expect(read(record) == session)
            for length in 0..<record.count { #expect(read(Array(record[..<length])) == nil) }
            #expect(read(record + [0]) == nil)
            for index in record.indices {
                var damaged = record
                damaged[index] ^= 1
                #expect(read(damaged) == nil, "byte \(index)")
            }
            let key = SessionCoding.key(of: session.address)
            #expect(SessionCoding.address(app: "1", key: key) == session.address)
            let other = SessionAddress(app: AppID("2"), key: session.address.key)
            #expect(SessionCoding.session(other, parkedAt: nil, record: record) == nil)
        }
        #expect(SessionCoding.address(app: "1", key: [1, 2, 3]) == nil)
        #expect(SessionCoding.address(app: "", key: [UInt8](repeating: 1, count: 16)) == nil)
    }

    @Test("Sessions have room of their own: they evict no message, and large ones no small one")
    func budget() throws {
        var settings = ArchiveFile.Settings(path: folder.path(), bootID: "boot")
        settings.byteCountMax = 1 << 20
        let file = try ArchiveFile(settings)
        try file.perform([opening(1)] + (1...200).map { message($0, length: 900) })
        for number in UInt64(10)..<37 {
            var large = session(number)
            large.mayLackCursors = false
            large.cursors = try (0..<2_000)
                .map { index in
                    let name = try ChannelName("public-\(number)-\(index)")
                    return SessionCursor(
                        name,
                        ChannelPosition(stream: StreamID(bits: number), serial: 1)
                    )
                }
            try file.write([.keep(large)])
            try file.removeAllExpired(at: 1_000)
        }
        try file.write([.keep(session(1))])
        #expect(try file.serials() == Array(1...200))
        #expect(try file.usedByteCount() <= 2 << 20)
        let sessions = sorted(try file.contents(at: 0).sessions.sessions)
        #expect(sessions.count == 28 && sessions[0] == session(1))
        let refused = sessions.dropFirst().filter(\.cursors.isEmpty)
        #expect((1..<27).contains(refused.count))
        #expect(refused.allSatisfy { $0.mayLackCursors })
        // What is removed makes room.
        for number in UInt64(10)..<37 { try file.write([.remove(session(number).address)]) }
        #expect(file.sessionByteCount <= 1_024)
    }

    @Test("Behind a crash there are those that were written, and they are not all") func crash()
        throws
    {
        do {
            let file = try open()
            try file.write([.keep(session(1)), .keep(session(2, parkedAt: nil)), .keep(session(3))])
            try file.write([.remove(session(1).address), .keep(session(3, parkedAt: 7_000))])
        }
        let found = try read()
        #expect(sorted(found.sessions) == [session(2, parkedAt: nil), session(3, parkedAt: 7_000)])
        #expect(!found.isComplete && found.damagedCount == 0)
    }

    @Test("A stop writes all in place of those; a run that begins has none that are all")
    func stop() throws {
        let kept = StoredSessions(
            [session(2), session(3)],
            isComplete: true,
            unknownBefore: 17,
            evictions: [AppID("1"): 18, AppID("2"): 19]
        )
        do {
            let file = try open()
            try file.write([.keep(session(1))])
            try file.close(keeping: kept)
        }
        do {
            var found = try read()
            found.sessions = sorted(found.sessions)
            #expect(found == kept)
        }
        let again = try read()
        #expect(again.sessions.count == 2 && !again.isComplete && again.evictions.isEmpty)
    }

    @Test("A stop that does not know all of them keeps those of before") func incompleteStop()
        throws
    {
        do {
            let file = try open()
            try file.write([.keep(session(1)), .keep(session(2))])
            try file.close(keeping: StoredSessions([session(2, parkedAt: 9_000)]))
        }
        let found = try read()
        #expect(sorted(found.sessions) == [session(1), session(2, parkedAt: 9_000)])
        #expect(!found.isComplete)
    }

    @Test(
        "A damaged row is counted, and the rest are not all",
        arguments: [
            "UPDATE sessions SET record = substr(record, 2) WHERE key = ?",
            "UPDATE sessions SET record = x'' WHERE key = ?",
            "UPDATE sessions SET app = '9' WHERE key = ?",
            "UPDATE sessions SET key = x'00' WHERE key = ?",
        ]
    )
    func damaged(sql: String) throws {
        try open().close(keeping: StoredSessions([session(1), session(2)], isComplete: true))
        try change(sql, [.blob(SessionCoding.key(of: session(1).address)[...])])
        let found = try read()
        #expect(found.sessions == [session(2)])
        #expect(found.damagedCount == 1 && !found.isComplete)
    }

    @Test("A file of the first version gets the tables of this one, with its streams")
    func migrates() throws {
        do {
            let connection = try SQLiteConnection(path: folder.path(), busyTimeout: 0)
            defer { connection.close() }
            try ArchiveSchema.prepare(connection, to: 1)
            try connection.execute(
                """
                INSERT INTO streams VALUES
                    (1, '1', 'news', '\(StreamID(bits: 1).text)', 1, 1, 1, 1000, 9000000, 1, 9, 9, 9000)
                """
            )
            try connection.execute("INSERT INTO messages VALUES (1, 1, 1000, NULL, x'31')")
        }
        let file = try open()
        let contents = try file.contents(at: 0)
        #expect(contents.streams.map(\.stream.lastSerial) == [1])
        #expect(contents.sessions == StoredSessions())
        try file.write([.keep(session(1))])
        #expect(try file.contents(at: 0).sessions.sessions == [session(1)])
    }
}
