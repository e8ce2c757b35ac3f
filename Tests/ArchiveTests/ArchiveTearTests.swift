import Broker
import Foundation
import PusherProtocol
import SQLite
import TestRandom
import Testing

@testable import Archive

private let cuts = ProcessInfo.processInfo.environment["CUTS"].flatMap(Int.init) ?? 300

/// Files whose end is missing, or whose pages are torn.
///
/// CUTS=10000 makes more of them.
@Suite("A torn archive", .timeLimit(.minutes(5 + cuts / 200)))
struct ArchiveTearTests {
    private let folder: TemporaryFolder
    private var random = SeededRandom(seed: 19)

    init() throws { folder = try TemporaryFolder() }

    /// A file and its log as a crash leaves them: 60 transactions with three messages each.
    private func write(_ path: String) throws -> (database: Data, log: Data) {
        let file = try ArchiveFile(ArchiveFile.Settings(path: path, bootID: "first"))
        try file.perform([opening(1)])
        for transaction in UInt64(0)..<60 {
            try file.perform(
                (1...3).map { message(transaction * 3 + $0, length: Int(transaction) * 13) }
            )
        }
        return (
            try Data(contentsOf: URL(filePath: path)),
            try Data(contentsOf: URL(filePath: path + "-wal"))
        )
    }

    /// Opens a file, and returns the serials in it; `nil` for a malformed one.
    private func serials(_ path: String) throws -> (serials: [UInt64], isCurrent: Bool)? {
        do {
            let file = try ArchiveFile(ArchiveFile.Settings(path: path, bootID: "second"))
            let contents = try file.contents(at: 0)
            let found = try file.serials()
            if let stream = contents.streams.first?.stream {
                #expect(stream.lastSerial == found.last ?? 0)
            }
            return (found, contents.streams.first?.isCurrent ?? false)
        } catch let error as SQLiteError where error.isMalformed {
            return nil
        }
    }

    private func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-mark"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    @Test("Whole transactions from the first on are left of a log that is cut anywhere")
    mutating func cutLog() throws {
        let (database, log) = try write(folder.path())
        let path = folder.path("cut.sqlite")
        var counts: Set<Int> = []
        for _ in 0..<cuts {
            remove(path)
            try database.write(to: URL(filePath: path))
            let length = Int.random(in: 0...log.count, using: &random)
            try log.prefix(length).write(to: URL(filePath: path + "-wal"))
            let found = try #require(try serials(path), "\(length) bytes of the log")
            #expect(found.serials == Array(1...180).prefix(found.serials.count).map { $0 })
            #expect(found.serials.count.isMultiple(of: 3))
            // The machine has started anew since: nobody may take the end for complete.
            #expect(!found.isCurrent)
            counts.insert(found.serials.count)
        }
        #expect(counts.count > 20)
    }

    @Test("A log with torn blocks ends ahead of them") mutating func tornLog() throws {
        let (database, log) = try write(folder.path())
        let path = folder.path("torn.sqlite")
        for _ in 0..<cuts {
            remove(path)
            try database.write(to: URL(filePath: path))
            var torn = log
            let block = Int.random(in: 0..<log.count / 512, using: &random) * 512
            for index in block..<block + 512 {
                torn[index] = UInt8.random(in: 0...255, using: &random)
            }
            try torn.write(to: URL(filePath: path + "-wal"))
            let found = try #require(try serials(path), "block \(block)")
            #expect(found.serials == Array(1...180).prefix(found.serials.count).map { $0 })
            #expect(found.serials.count.isMultiple(of: 3))
        }
    }

    @Test("A database with torn pages is whole by its log, or is malformed")
    mutating func tornPages()
        throws
    {
        let (database, log) = try write(folder.path())
        let path = folder.path("pages.sqlite")
        for _ in 0..<cuts / 3 {
            remove(path)
            var torn = database
            let block = Int.random(in: 0..<max(1, database.count / 512), using: &random) * 512
            for index in block..<min(block + 512, database.count) {
                torn[index] = UInt8.random(in: 0...255, using: &random)
            }
            try torn.write(to: URL(filePath: path))
            try log.write(to: URL(filePath: path + "-wal"))
            if let found = try serials(path) { #expect(found.serials == Array(1...180)) }
        }
    }
}
