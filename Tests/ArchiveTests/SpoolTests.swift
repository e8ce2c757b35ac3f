import Broker
import Foundation
import PusherProtocol
import SQLite
import Testing

@testable import Archive

@Suite("The spool") struct SpoolTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("spool") }

    init() throws { folder = try TemporaryFolder() }

    private var state: SpooledState {
        let messages = (3...5).map {
            StoredMessage(
                serial: $0,
                time: 1_000 + Int64($0),
                except: $0 == 4 ? SocketID(1, 2) : nil,
                envelope: Envelope(text: Array("\($0)".utf8))
            )
        }
        let id = StreamID(bits: 5)
        let expiry = Clock.unixMilliseconds + 600_000
        return SpooledState(
            streams: [
                SpooledStream(address("news"), id, lastSerial: 5, messages: messages),
                SpooledStream(address("quiet"), StreamID(bits: 6), lastSerial: 9, messages: []),
            ],
            keys: [
                SpooledKey(
                    address: address("news"),
                    key: storedKey("a", expiry: expiry),
                    position: ChannelPosition(stream: id, serial: 5)
                ),
                SpooledKey(
                    address: address("unnumbered"),
                    key: storedKey("b", expiry: expiry + 1),
                    position: nil
                ),
            ],
            sessions: StoredSessions([session(1)], isComplete: true, unknownBefore: 4)
        )
    }

    @Test func isReadOnce() async throws {
        let spool = Spool(path: path)
        try await spool.write(state)
        #expect(folder.names == ["spool"])
        let read = try await spool.take()
        #expect(
            read.streams == state.streams && read.keys.map(\.key.key) == state.keys.map(\.key.key)
        )
        #expect(read.keys.map(\.position) == state.keys.map(\.position))
        #expect(read.sessions == state.sessions)
        #expect(folder.names == [])
        #expect(try await spool.take().streams.isEmpty)
    }

    @Test func anUnfinishedFileIsIgnored() async throws {
        let spool = Spool(path: path)
        try await spool.write(state)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".unfinished")
        let read = try await spool.take()
        #expect(read.streams.isEmpty && read.sessions == StoredSessions())
        #expect(folder.names == [])
    }

    @Test func anOldFileIsIgnored() async throws {
        let now = ClockReading.now
        let then = ClockReading(
            calendar: now.calendar - 90_000_000,
            uptime: now.uptime - 90_000_000
        )
        try await Spool(path: path, clocks: { then }).write(state)
        #expect(try await Spool(path: path, clocks: { now }).take().streams.isEmpty)
        #expect(folder.names == [])
    }

    @Test func aMalformedFileIsReportedOnce() async throws {
        try Data(repeating: 9, count: 9_000).write(to: URL(filePath: path))
        let spool = Spool(path: path)
        await #expect(throws: SQLiteError.self) { try await spool.take() }
        #expect(try await spool.take().streams.isEmpty)
    }
}
