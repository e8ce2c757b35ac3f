import Broker
import Foundation
import Glibc
import PusherProtocol
import SQLite
import Testing

@testable import Archive

@Suite("The archive's file") struct ArchiveFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path() }

    init() throws { folder = try TemporaryFolder() }

    private func open(
        boot: String = "boot",
        _ change: (inout ArchiveFile.Settings) -> Void = { _ in }
    ) throws -> ArchiveFile {
        var settings = ArchiveFile.Settings(path: path, bootID: boot)
        change(&settings)
        return try ArchiveFile(settings)
    }

    @Test func keepsMessagesAndKeysAcrossRuns() throws {
        let except = SocketID(1, 2)
        do {
            let file = try open()
            try file.perform([
                opening(1), message(1, except: except, key: storedKey("a")), message(2),
            ])
            try file.perform([
                opening(4, "other", bits: 9), message(1, of: 4, key: storedKey("b", expiry: 10)),
            ])
            try file.close()
        }
        let file = try open()
        let contents = try file.contents(at: 50)
        #expect(contents.streams.map(\.isCurrent) == [true, true])
        #expect(contents.streams.map(\.stream.address.name.text) == ["news", "other"])
        #expect(contents.streams.map(\.stream.lastSerial) == [2, 1])
        #expect(contents.streams[0].stream.id == StreamID(bits: 1))
        #expect(contents.nextRow == 5)
        #expect(contents.keys.map(\.key) == [storedKey("a")])
        #expect(contents.keys.map(\.serial) == [1])
        let page = try file.messages(ArchiveQuery(row: 1, HistoryQuery(), bytesMax: .max))
        #expect(page.messages.map(\.envelope.text) == [Array("1".utf8)[...], Array("2".utf8)[...]])
        #expect(page.messages.map(\.except) == [except, nil])
        #expect(page.oldest == 1 && !page.hasMore)
    }

    @Test func isReadableByItsOwnerAlone() throws {
        let file = try open()
        try file.perform([opening(1), message(1)])
        for suffix in ["", "-wal", "-shm", "-mark"] {
            var status = stat()
            try #require(stat(path + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
        }
    }

    @Test("Serials, times, order, number and size limit a page") func pages() throws {
        let file = try open()
        try file.perform([opening(1)] + (1...10).map { message($0, at: Int64($0) * 10, length: 9) })
        func serials(_ change: (inout HistoryQuery) -> Void, bytesMax: Int = .max) throws -> (
            [UInt64], Bool
        ) {
            var query = HistoryQuery()
            change(&query)
            let page = try file.messages(ArchiveQuery(row: 1, query, bytesMax: bytesMax))
            return (page.messages.map(\.serial), page.hasMore)
        }
        #expect(try serials { $0.after = 7 } == ([8, 9, 10], false))
        #expect(try serials { $0.before = 3 } == ([1, 2], false))
        #expect(try serials { ($0.since, $0.until) = (35, 50) } == ([4, 5], false))
        #expect(try serials { $0.limit = 2 } == ([1, 2], true))
        #expect(
            try serials {
                $0.isNewestFirst = true
                $0.limit = 2
            } == ([10, 9], true)
        )
        #expect(try serials({ _ in }, bytesMax: 25) == ([1, 2], true))
        #expect(try serials({ _ in }, bytesMax: 1) == ([1], true))
        #expect(try serials { $0.after = 10 } == ([], false))
    }

    // MARK: - Lives

    @Test(
        "The end of a file may be missing behind a loss of power, unless everything is synced",
        arguments: [
            (closed: true, boot: "boot", synced: false, isCurrent: true),
            (false, "boot", false, true), (false, "other", false, false),
            (false, "other", true, true), (true, "other", false, true),
        ]
    )
    func lives(closed: Bool, boot: String, synced: Bool, isCurrent: Bool) throws {
        do {
            let file = try open { $0.syncsAlways = synced }
            try file.perform([opening(1), message(1)])
            if closed { try file.close() }
        }
        let file = try open(boot: boot)
        #expect(file.mayLackEnd == !isCurrent)
        #expect(try file.contents(at: 0).streams.map(\.isCurrent) == [isCurrent])
        // Under another ID it is of this life.
        try file.perform([opening(1, bits: 2, last: 1), message(2)])
        let stream = try #require(try file.contents(at: 0).streams.first)
        #expect(stream.isCurrent && stream.stream.id == StreamID(bits: 2))
        #expect(try file.serials() == [1, 2])
    }

    @Test("A life that was not used keeps its number until it is") func staysOfAnOlderLife() throws
    {
        do { try open().perform([opening(1), message(1)]) }
        for boot in ["second", "third"] {
            let file = try open(boot: boot)
            #expect(try file.contents(at: 0).streams.map(\.isCurrent) == [false])
        }
        let file = try open(boot: "third")
        #expect(try file.contents(at: 0).streams.map(\.isCurrent) == [false])
    }

    // MARK: - Limits

    @Test("Old messages go by age, number and size, 500 at a time") func limits() throws {
        let file = try open()
        try file.perform(
            [opening(1) { $0.ageMax = 10 }, opening(2, "b", bits: 2) { $0.messagesMax = 3 }]
                + [opening(3, "c", bits: 3) { $0.bytesMax = 100 }]
                + (1...1_200).map { message($0, at: $0 <= 1_100 ? 0 : 5_000) }
                + (1...9).map { message($0, of: 2, at: 5_000) }
                + (1...9).map { message($0, of: 3, at: 5_000, length: 19) }
        )
        #expect(try file.removeExpired(at: 10_001))
        #expect(try file.serials().count == 700)
        try file.removeAllExpired(at: 10_001)
        #expect(try file.serials() == Array(1_101...1_200))
        #expect(try file.serials(of: 2) == [7, 8, 9])
        #expect(try file.serials(of: 3) == [5, 6, 7, 8, 9])
        // All of a stream's messages: it counts on.
        try file.removeAllExpired(at: 400_000)
        #expect(try file.serials() == [])
        #expect(try file.contents(at: 0).streams.map(\.stream.lastSerial) == [1_200, 9, 9])
        try file.perform([message(1_201, at: 400_000)])
        #expect(try file.serials() == [1_201])
        try file.removeAllExpired(at: 400_000)
        #expect(try file.serials() == [1_201])
        // Memory keeps a message of exactly its age, too.
        try file.removeAllExpired(at: 410_000)
        #expect(try file.serials() == [1_201])
        try file.removeAllExpired(at: 410_001)
        #expect(try file.serials() == [])
    }

    @Test func theOldestMessagesOfAllGoWhenTheFileIsFull() throws {
        let file = try open { $0.byteCountMax = 1 << 20 }
        let rule = { (rule: inout RecoveryRule) in
            (rule.messagesMax, rule.bytesMax) = (10_000, 16 << 20)
        }
        try file.perform([opening(1, "news", rule), opening(2, "b", bits: 2, rule)])
        for serial in UInt64(1)...2_000 {
            try file.perform([
                message(serial, at: Int64(serial), length: 400),
                message(serial, of: 2, at: 10_000 + Int64(serial), length: 400),
            ])
        }
        try file.removeAllExpired(at: 20_000)
        #expect(try file.usedByteCount() <= 1 << 20)
        #expect(try file.serials().count < 100)
        let left = try file.serials(of: 2)
        #expect(left.last == 2_000 && left.count > 1_000)
    }

    @Test("A burst does not exceed the budget of the file by more than one transaction")
    func budgetOfABurst() throws {
        let file = try open { $0.byteCountMax = 2 << 20 }
        let writer = try ArchiveWriter(file, shardCount: 1)
        let burst = (UInt64(1)...20)
            .map { number -> ArchiveRequest in
                let first = (number - 1) * 500 + 1
                let messages = (first..<first + 500).map { message($0, length: 900) }
                return .commit(
                    ArchiveGroup(
                        shard: 0,
                        epoch: 0,
                        number: number,
                        changes: (number == 1 ? [opening(1) { $0.messagesMax = .max }] : [])
                            + messages,
                        isDurable: false
                    )
                )
            }
        let replies = writer.perform(burst, at: 0)
        guard case .committed(20)? = replies.last?.reply else {
            Issue.record("\(replies)")
            return
        }
        #expect(try file.usedByteCount() <= 2 << 20)
        #expect(file.takeBudgetHit() && !file.takeBudgetHit())
        #expect(try file.serials().last == 10_000)
        // Freed pages are used again: the file has not been larger.
        let pageCount = try file.connection.integer("PRAGMA page_count") ?? .max
        #expect(pageCount * 4_096 <= 5 << 20)
    }

    @Test("No search of an expiry looks through a whole table")
    func searchesByIndex() throws {
        typealias Searches = ArchiveFile.Searches
        let file = try open()
        let searches = [
            (Searches.expired, "expiring"), (Searches.excessive, "excessive_streams"),
            (Searches.oldest, "oldest"), (Searches.expiredKeys, "expiring_keys"),
        ]
        for (search, index) in searches {
            var plan = ""
            try file.connection.forEachRow("EXPLAIN QUERY PLAN \(search)") { row in
                plan += row.text(at: 3) ?? ""
            }
            #expect(plan.contains("INDEX \(index)"), "\(search): \(plan)")
        }
    }

    @Test("The IDs of channels without messages stay until their stream is forgotten, or may be")
    func seeds() throws {
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("news"))
        func id() throws -> StreamID { try open().contents(at: 0).seeds.id(of: address) }
        let first = try id()
        #expect(try id() == first)
        do {
            let file = try open()
            try file.perform([opening(1), message(1), opening(4, "other", bits: 9)])
            #expect(try file.contents(at: 0).seeds.id(of: address) == first)
            var seeds = try file.contents(at: 0).seeds
            try file.perform([.forget(row: 1)])
            // As in memory.
            seeds.forget(1, of: address)
            #expect(try file.contents(at: 0).seeds == seeds)
            #expect(seeds.id(of: address) != first)
            // Another stream of a channel.
            try file.perform([opening(5, "other", bits: 10)])
            let other = ChannelAddress(app: AppID("1"), name: try ChannelName("other"))
            seeds.forget(4, of: other)
            #expect(try file.contents(at: 0).seeds == seeds)
            try file.close()
        }
        let second = try id()
        #expect(second != first)
        // Not closed, and the machine was started anew.
        #expect(try open(boot: "another").contents(at: 0).seeds.id(of: address) != second)
    }

    @Test func forgetsStreams() throws {
        let file = try open()
        try file.perform([opening(1), message(1, key: storedKey("a")), opening(2, "b", bits: 2)])
        try file.perform([.forget(row: 1)])
        #expect(try file.contents(at: 0).streams.map(\.stream.row) == [2])
        try file.removeAllExpired(at: 0)
        #expect(try file.serials() == [])
        #expect(try file.contents(at: 0).keys.isEmpty)
        // Another stream of a channel replaces the first.
        try file.perform([opening(3, "b", bits: 3), message(1, of: 3)])
        #expect(try file.contents(at: 0).streams.map(\.stream.row) == [3])
        #expect(try file.contents(at: 0).nextRow == 4)
    }

    @Test func forgetsKeysInTime() throws {
        let file = try open()
        try file.perform([opening(1), message(1, key: storedKey("a", expiry: 10))])
        try file.removeAllExpired(at: 9)
        #expect(try file.contents(at: 0).keys.count == 1)
        try file.removeAllExpired(at: 10)
        #expect(try file.contents(at: 0).keys.isEmpty)
    }

    // MARK: - Failures

    @Test("A transaction is performed as a whole or not at all") func fullDisk() throws {
        let file = try open { $0.pageCountMax = 60 }
        try file.perform([opening(1), message(1)])
        let number = try file.lastTransaction()
        #expect(throws: SQLiteError.self) {
            try file.perform((2...2_000).map { message($0, length: 1_000) })
        }
        #expect(try file.lastTransaction() == number)
        #expect(try file.serials() == [1])
        try file.perform([message(2)])
        #expect(try file.serials() == [1, 2])
    }

    @Test func revertsWhatNobodyHasSeen() throws {
        let file = try open()
        try file.perform([opening(1), message(1)])
        let doubtful = [message(2, key: storedKey("k")), message(3)]
        try file.perform(doubtful)
        try file.revert(doubtful)
        #expect(try file.serials() == [1])
        #expect(try file.contents(at: 0).streams.map(\.stream.lastSerial) == [1])
        #expect(try file.contents(at: 0).keys.isEmpty)
        try file.perform([message(2), message(3)])
        #expect(try file.serials() == [1, 2, 3])
    }

    @Test func anUnknownVersionIsRefused() throws {
        do {
            let connection = try SQLiteConnection(path: path, busyTimeout: 0)
            try connection.execute("PRAGMA user_version = 9")
            connection.close()
        }
        #expect(throws: ArchiveError.unknownVersion(9)) { try open() }
    }

    @Test func whatIsNoDatabaseIsMalformed() throws {
        try Data("no database, but long enough to have a header of one".utf8)
            .write(to: URL(fileURLWithPath: path))
        do {
            _ = try open()
            Issue.record("the file was opened")
        } catch let error as SQLiteError {
            #expect(error.isMalformed)
        }
    }
}
