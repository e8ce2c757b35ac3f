import Broker
import Foundation
import Glibc
import Logging
import PusherProtocol
import SQLite
import TestRandom
import Testing

@testable import Archive

private let seeds = ProcessInfo.processInfo.environment["SEEDS"].flatMap(Int.init) ?? 25

/// Files, logs and spools in which single bits are flipped: nothing is changed or missing silently, and every start succeeds.
///
/// SEEDS=1000 makes more of them.
@Suite("A damaged archive", .timeLimit(.minutes(5 + seeds / 50)))
struct ArchiveDamageTests {
    private let folder: TemporaryFolder
    private static let count: UInt64 = 90

    init() throws { folder = try TemporaryFolder() }

    private func settings(_ path: String) -> ArchiveFile.Settings {
        ArchiveFile.Settings(path: path, bootID: "boot")
    }

    /// Writes two streams with ``count`` messages each, and returns the files.
    private func written(isClosed: Bool) throws -> [String: Data] {
        let path = folder.path("source\(isClosed).sqlite")
        let file = try ArchiveFile(settings(path))
        try file.perform([opening(1), opening(2, "other", bits: 2)])
        for serial in 1...Self.count {
            try file.perform([
                message(serial, length: Int(serial) * 11, key: storedKey("k\(serial)")),
                message(serial, of: 2, except: SocketID(serial, 3)),
            ])
        }
        try file.write([.keep(session(1)), .keep(session(2))])
        if isClosed { try file.close(keeping: StoredSessions([session(1)], isComplete: true)) }
        return try ["", "-wal", "-mark"]
            .reduce(into: [:]) { files, suffix in
                files[suffix] = try Data(contentsOf: URL(filePath: path + suffix))
            }
    }

    private func flip(
        _ suffix: String,
        of files: [String: Data],
        _ random: inout SeededRandom
    ) throws -> String {
        for name in folder.names where name.hasPrefix("flipped") {
            try FileManager.default.removeItem(atPath: folder.path(name))
        }
        let path = folder.path("flipped.sqlite")
        for (name, data) in files {
            var data = data
            if name == suffix, !data.isEmpty {
                data[Int.random(in: 0..<data.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
            }
            try data.write(to: URL(filePath: path + name))
        }
        return path
    }

    /// Opens a file, sets it aside if it is malformed, and checks that a client that got `serial` gets all or a gap.
    private func check(_ path: String, _ comment: Comment) throws {
        var file: ArchiveFile
        var contents: ArchiveContents
        do {
            file = try ArchiveFile(settings(path))
            contents = try file.contents(at: 0)
        } catch let error as SQLiteError where error.isDamage {
            _ = try SetAside.move(path, at: 1)
            file = try ArchiveFile(settings(path))
            contents = try file.contents(at: 0)
        }
        for (stream, isCurrent) in contents.streams {
            let ids = [StreamID(bits: 1): (1, "news"), StreamID(bits: 2): (2, "other")]
            let known = try #require(ids[stream.id], comment)
            #expect(stream.address.name.text == known.1, comment)
            if isCurrent { #expect(stream.lastSerial == Self.count, comment) }
            var query = HistoryQuery()
            (query.limit, query.before) = (1_000, stream.lastSerial + 1)
            query.isNewestFirst = true
            guard
                let page = try? file.messages(
                    ArchiveQuery(row: stream.row, query, bytesMax: .max)
                )
            else { continue }
            let serials = page.messages.map(\.serial)
            // From the last one down, without a hole: what precedes them is a gap.
            let expected = (0..<UInt64(serials.count)).map { stream.lastSerial - $0 }
            #expect(serials == expected, comment)
            for found in page.messages {
                let length = known.0 == 1 ? Int(found.serial) * 11 : 0
                let text = Array("\(found.serial)".utf8) + [UInt8](repeating: 0x20, count: length)
                #expect(found.envelope == Envelope(text: text) && found.time == 1_000, comment)
                #expect(
                    found.except == (known.0 == 2 ? SocketID(found.serial, 3) : nil),
                    comment
                )
            }
        }
        for (row, serial, key) in contents.keys {
            #expect(row == 1 && key == storedKey("k\(serial)"), comment)
        }
        for stored in contents.sessions.sessions {
            #expect(stored == session(stored.address.key.low), comment)
        }
        // It can be trimmed, and written.
        while try file.removeExpired(at: 5_000) {}
        try file.perform([
            opening(contents.nextRow, "new", bits: 7), message(1, of: contents.nextRow),
        ])
    }

    @Test("One bit of the file, of its log or of its mark", arguments: ["", "-wal", "-mark"])
    func bits(suffix: String) throws {
        var random = SeededRandom(seed: 37)
        for isClosed in suffix == "-wal" ? [false] : [true, false] {
            let files = try written(isClosed: isClosed)
            for seed in 0..<seeds {
                let path = try flip(suffix, of: files, &random)
                try check(path, "\(suffix) seed \(seed) closed \(isClosed)")
            }
        }
    }

    @Test("One bit of a spool") func spool() async throws {
        var random = SeededRandom(seed: 38)
        let state = Self.spooled
        try await Spool(path: folder.path("spool")).write(state)
        let written = try Data(contentsOf: URL(filePath: folder.path("spool")))
        for seed in 0..<seeds {
            var data = written
            data[Int.random(in: 0..<data.count, using: &random)] ^=
                1 << UInt8.random(in: 0..<8, using: &random)
            let path = folder.path("flipped")
            try data.write(to: URL(filePath: path))
            let read = (try? await Spool(path: path).take()) ?? SpooledState()
            Self.check(read, state, "seed \(seed)")
        }
    }

    /// A stream with ``count`` messages, a key and two sessions.
    private static var spooled: SpooledState {
        let messages = (1...count).map {
            StoredMessage(
                serial: $0,
                time: 5,
                except: nil,
                envelope: Envelope(text: Array("\($0) text".utf8))
            )
        }
        let stream = SpooledStream(
            address("news"),
            StreamID(bits: 1),
            lastSerial: count,
            messages: messages
        )
        let key = SpooledKey(
            address: address("news"),
            key: storedKey("a", expiry: Clock.unixMilliseconds + 600_000),
            position: ChannelPosition(stream: stream.id, serial: 3)
        )
        let sessions = StoredSessions(
            [session(2), session(1)],
            isComplete: true,
            unknownBefore: 4
        )
        return SpooledState(streams: [stream], keys: [key], sessions: sessions)
    }

    /// Checks that what was read is as it was written, or refused.
    private static func check(_ read: SpooledState, _ state: SpooledState, _ comment: Comment) {
        #expect(read.streams.isEmpty || read.streams == state.streams, comment)
        #expect(read.keys.isEmpty || read.keys == state.keys, comment)
        #expect(
            read.sessions == state.sessions
                || !read.sessions.isComplete
                    && read.sessions.sessions.allSatisfy(state.sessions.sessions.contains),
            comment
        )
    }

    @Test(
        "Numbers in rows that nothing can have",
        arguments: [
            "UPDATE streams SET last = -1", "UPDATE streams SET last = 9223372036854775807",
            "UPDATE streams SET id = -5 WHERE id = 1",
            "UPDATE messages SET serial = -7 WHERE serial = 3",
            "UPDATE messages SET serial = 9223372036854775807 WHERE serial = 90",
            "UPDATE messages SET text = x'81' WHERE serial = 90",
            "UPDATE messages SET text = x''",
            "UPDATE messages SET time_ms = -9223372036854775807", "UPDATE keys SET serial = -1",
            "UPDATE keys SET expiry_ms = 9223372036854775807", "UPDATE life SET last = -1",
            "UPDATE life SET next_stream = 9223372036854775807", "UPDATE life SET life = -1",
            "UPDATE streams SET bytes = -9223372036854775807 - 1, expiry_ms = 0",
            "UPDATE sessions SET parked_ms = -9223372036854775807 - 1", "DELETE FROM life",
            "DELETE FROM messages WHERE serial = 50", "PRAGMA user_version = -3",
        ]
    )
    func edges(statement: String) throws {
        let files = try written(isClosed: true)
        let path = folder.path("edges.sqlite")
        for (name, data) in files { try data.write(to: URL(filePath: path + name)) }
        try change(path, statement)
        try check(path, "\(statement)")
    }

    /// Changes the rows of a file that nobody has opened.
    private func change(_ path: String, _ statement: String) throws {
        let connection = try SQLiteConnection(path: path, busyTimeout: 0)
        defer { connection.close() }
        try connection.execute(statement)
    }

    @Test(
        "Numbers in rows of a spool that nothing can have",
        arguments: [
            "UPDATE streams SET last = -1", "UPDATE streams SET last = 9223372036854775807",
            "UPDATE messages SET serial = -7 WHERE serial = 90",
            "UPDATE messages SET text = x'81'",
            "UPDATE messages SET text = x''", "DELETE FROM messages WHERE serial = 50",
            "UPDATE messages SET time_ms = -9223372036854775807 - 1", "UPDATE keys SET serial = -1",
            "UPDATE keys SET expiry_ms = 9223372036854775807", "UPDATE life SET last = -1",
            "UPDATE life SET last = 9223372036854775807", "UPDATE life SET uptime_ms = 0",
            "UPDATE sessions SET parked_ms = -9223372036854775807 - 1", "DELETE FROM life",
        ]
    )
    func spoolEdges(statement: String) async throws {
        let state = Self.spooled
        let path = folder.path("spool")
        try await Spool(path: path).write(state)
        try change(path, statement)
        Self.check((try? await Spool(path: path).take()) ?? SpooledState(), state, "\(statement)")
    }

    @Test("A file of the second version gets checksums; what is damaged in it is refused")
    func migration() throws {
        let path = folder.path()
        let text = #"{"event":"e","data":"é"}"#
        let frame = [0x81, UInt8(text.utf8.count)] + Array(text.utf8)
        do {
            let connection = try SQLiteConnection(path: path, busyTimeout: 0)
            defer { connection.close() }
            try ArchiveSchema.prepare(connection, to: 2)
            let insert = "INSERT INTO streams VALUES (?, '1', ?, ?, 1, 1, 4, 1, 900, 9, 9, 9, 9000)"
            for row in Int64(1)...2 {
                let id = StreamID(bits: UInt64(row)).text
                try connection.execute(insert, [.integer(row), .text("news\(row)"), .text(id)])
                for serial in Int64(1)...4 {
                    // One has lost its end, as a version without checksums may have left it.
                    let isWhole = row == 1 || serial != 2
                    try connection.execute(
                        "INSERT INTO messages VALUES (?, ?, 1, NULL, ?)",
                        [
                            .integer(row), .integer(serial),
                            .blob(isWhole ? frame[...] : frame.dropLast()),
                        ]
                    )
                }
            }
            try connection.execute("INSERT INTO keys VALUES (1, 'k', 2, 7, 100000)")
            try connection.execute("UPDATE life SET boot_id = 'boot', next_stream = 3")
        }
        let file = try ArchiveFile(settings(path))
        #expect(!file.mayLackEnd)
        let contents = try file.contents(at: 0)
        #expect(contents.streams.map(\.stream.lastSerial) == [4, 4])
        #expect(contents.streams.map(\.isCurrent) == [true, true])
        #expect(contents.keys.map(\.key) == [storedKey("k")] && contents.nextRow == 3)
        #expect(try file.serials(of: 1) == [1, 2, 3, 4])
        #expect(try file.serials(of: 2) == [3, 4])
        #expect(file.takeDamage().rowCount == 1)
    }

    @Test("A file of the third version gets texts in place of frames, and refuses damaged rows")
    func frames() throws {
        let path = folder.path()
        do {
            let file = try ArchiveFile(settings(path))
            try file.perform([opening(1)] + (1...4).map { message($0) })
            try file.close()
        }
        let texts = [200, 10, 70_000, 3].map { "{\"\(String(repeating: "é", count: $0))\":1}" }
        do {
            let connection = try SQLiteConnection(path: path, busyTimeout: 0)
            defer { connection.close() }
            try connection.execute("ALTER TABLE messages RENAME COLUMN text TO frame")
            for (index, text) in texts.enumerated() {
                let frame = Envelope(text: Array(text.utf8)).frame
                let message = StoredMessage(
                    serial: UInt64(index + 1),
                    time: 1_000,
                    except: nil,
                    envelope: Envelope(text: frame)
                )
                let sum = RowChecksum.message(row: 1, message) + (index == 1 ? 1 : 0)
                try connection.execute(
                    "UPDATE messages SET frame = ?, crc = ? WHERE serial = ?",
                    [.blob(frame[...]), .integer(sum), .integer(Int64(index + 1))]
                )
            }
            try connection.execute("PRAGMA user_version = 3")
        }
        let file = try ArchiveFile(settings(path))
        #expect(!file.mayLackEnd)
        let page = try file.messages(ArchiveQuery(row: 1, HistoryQuery(), bytesMax: .max))
        #expect(page.messages.map(\.serial) == [3, 4] && file.takeDamage().rowCount == 1)
        let found = page.messages.map { String(decoding: $0.envelope.text, as: UTF8.self) }
        #expect(found == Array(texts[2...]))
    }

    @Test(
        "A channel whose stream is lost does not get the ID of before",
        arguments: ["UPDATE streams SET channel = 'others'", "UPDATE life SET crc = 0"]
    )
    func derivedIDs(statement: String) throws {
        let path = folder.path()
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("news"))
        do {
            let file = try ArchiveFile(settings(path))
            try file.perform([opening(1), message(1)])
            try file.close()
        }
        let id = try ArchiveFile(settings(path)).contents(at: 0).seeds.id(of: address)
        try change(path, statement)
        let file = try ArchiveFile(settings(path))
        #expect(try file.contents(at: 0).seeds.id(of: address) != id)
        #expect(try ArchiveFile(settings(path)).contents(at: 0).seeds == file.seeds())
    }

    // MARK: - The file and its mark

    @Test("A file without its last transactions, or another one, continues under other IDs")
    func marks() throws {
        let path = folder.path()
        do { try ArchiveFile(settings(path)).perform([opening(1), message(1)]) }
        let mark = try Data(contentsOf: URL(filePath: path + "-mark"))
        do {
            let file = try ArchiveFile(settings(path))
            #expect(!file.mayLackEnd)
            try file.perform([message(2)])
            try file.close()
        }
        let older = URL(filePath: path + "-mark")
        let newer = try Data(contentsOf: older)
        try mark.write(to: older)
        #expect(try ArchiveFile(settings(path)).mayLackEnd)
        try newer.write(to: older)
        #expect(try ArchiveFile(settings(path)).mayLackEnd)
        #expect(try !ArchiveFile(settings(path)).mayLackEnd)
        try FileManager.default.removeItem(at: older)
        #expect(try ArchiveFile(settings(path)).mayLackEnd)
    }

    @Test("A file that is no longer at its path is not written", arguments: ["", "-wal"])
    func misplaced(suffix: String) throws {
        let path = folder.path()
        let file = try ArchiveFile(settings(path))
        try file.perform([opening(1), message(1)])
        try FileManager.default.moveItem(atPath: path + suffix, toPath: path + "-away")
        #expect(throws: ArchiveError.misplaced(path)) { try file.perform([message(2)]) }
        try FileManager.default.moveItem(atPath: path + "-away", toPath: path + suffix)
        try file.perform([message(2)])
        #expect(try file.serials() == [1, 2])
    }

    @Test("Neither another name nor a deleted lock admits a second broker") func locks()
        async throws
    {
        func archive(_ path: String) -> Archive {
            Archive(
                Archive.Settings(settings(path)),
                shardCount: 1,
                log: .init(label: "test")
            ) { _, _ in }
        }
        let path = folder.path()
        let first = archive(path)
        _ = try await first.open()
        try FileManager.default.linkItem(atPath: path, toPath: path + "-linked")
        try FileManager.default.removeItem(atPath: path + "-lock")
        for path in [path, path + "-linked"] {
            await #expect(throws: ArchiveError.self) { _ = try await archive(path).open() }
        }
        await first.close(keeping: nil)
        let second = archive(path)
        _ = try await second.open()
        await second.close(keeping: nil)
    }

    // MARK: - Clocks

    /// Clocks that a test sets.
    private final class Clocks: @unchecked Sendable {
        // SAFETY: one test uses it on one thread.
        var reading = ClockReading(calendar: 1_000_000_000, uptime: 5_000)

        func pass(_ time: Int64, calendarBy step: Int64 = 0) {
            reading.uptime += time
            reading.calendar += time + step
        }
    }

    @Test(
        "A calendar that is set while the broker runs, or between two runs, does not change ages",
        arguments: [3_600_000, -3_600_000, -300_000] as [Int64],
        [false, true]
    )
    func steps(step: Int64, isAcrossRuns: Bool) throws {
        let clocks = Clocks()
        var settings = settings(folder.path())
        settings.clocks = { clocks.reading }
        var file = try ArchiveFile(settings)
        let now = clocks.reading.calendar
        try file.perform([
            opening(1) { $0.ageMax = 100 },
            message(1, at: now, key: storedKey("k", expiry: now + 100_000)),
        ])
        if isAcrossRuns { try file.close() }
        clocks.pass(10_000, calendarBy: step)
        if isAcrossRuns { file = try ArchiveFile(settings) } else { file.updateClock() }
        let found = try #require(file.takeClockStep())
        #expect(found == (clocks.reading.calendar - step, clocks.reading.calendar))
        #expect(file.takeClockStep() == nil)
        try file.removeAllExpired(at: file.time)
        #expect(try file.serials() == [1])
        let key = try #require(try file.contents(at: file.time).keys.first)
        // The rest of its time, by the calendar as it is now.
        #expect(key.key.expiry - clocks.reading.calendar == 90_000)
        clocks.pass(91_000)
        try file.removeAllExpired(at: file.time)
        #expect(try file.serials() == [])
        #expect(try file.contents(at: file.time).keys.isEmpty)
    }

    @Test(
        "A calendar that is set between stop and start does not drop the spool",
        arguments: [300_000, 7_200_000]
    )
    func spoolBehindStep(back: Int64) async throws {
        let now = ClockReading.now
        let path = folder.path("spool")
        let stream = SpooledStream(address("news"), StreamID(bits: 1), lastSerial: 9, messages: [])
        try await Spool(path: path, bootID: "a", clocks: { now })
            .write(SpooledState(streams: [stream]))
        let later = ClockReading(calendar: now.calendar - back, uptime: 7)
        let read = try await Spool(path: path, bootID: "b", clocks: { later }).take()
        #expect(read.streams == [stream])
    }
}
