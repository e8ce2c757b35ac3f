import Broker
import Foundation
import Logging
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("A file that is deleted, moved or replaced while it is in use", .timeLimit(.minutes(1)))
struct MissingFileTests {
    /// The interference of another process with the files of a running broker.
    enum Deed: CaseIterable {
        case deleteDatabase, deleteAll, deleteLog, deleteIndex, moveDatabase, moveAll
        case replaceByDatabase, replaceByText
    }

    private let folder: TemporaryFolder
    private let path: String
    private let log = KeptLog()

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path()
    }

    private func stage(
        clock: ManualClock = ManualClock(),
        path: String? = nil,
        _ script: @escaping ScriptedTransport.Script = { _, _ in nil }
    ) async throws -> Stage {
        try await Stage(
            settings: WebhookSettings(path: path ?? self.path),
            apps: [app(endpoints: [endpoint()])],
            clock: clock,
            transport: ScriptedTransport(script),
            log: log.logger
        )
    }

    private func queue(_ path: String? = nil) throws -> WebhookQueue {
        try WebhookQueue(reading: path ?? self.path)
    }

    /// The row counts of the file at the path; `nil` if it cannot be read.
    private func counts() -> [Int]? {
        guard let queue = try? queue() else { return nil }
        return try? [queue.deliveryCount(), queue.deadLetterCount()]
    }

    private func remove(_ endings: [String]) {
        for ending in endings { try? FileManager.default.removeItem(atPath: path + ending) }
    }

    private func move(_ endings: [String]) throws {
        for ending in endings {
            try FileManager.default.moveItem(atPath: path + ending, toPath: path + ".old" + ending)
        }
    }

    private func perform(_ deed: Deed) async throws {
        switch deed {
        case .deleteDatabase: remove([""])
        case .deleteAll: remove(["", "-wal", "-shm", "-lock"])
        case .deleteLog: remove(["-wal"])
        case .deleteIndex: remove(["-shm"])
        case .moveDatabase: try move([""])
        case .moveAll: try move(["", "-wal", "-shm"])
        case .replaceByDatabase:
            let other = try WebhookQueue(path: path + ".new")
            other.close()
            #expect(rename(path + ".new", path) == 0)
        case .replaceByText:
            try Data(repeating: 0x41, count: 5_000).write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
        }
    }

    /// Creates a stage with queued webhooks in the file, one in flight, and one dead letter.
    private func waitingStage() async throws -> Stage {
        let stage = try await stage { _, number in number == 0 ? .answered(status: 410) : nil }
        await stage.report(.channelOccupied(channel("dead")))
        try await stage.waitForCounters { $0.dead == 1 }
        for number in 1...3 { await stage.report(.subscriptionCount(channel(), number)) }
        try await stage.expectRequests(2)
        try await eventually { counts() == [3, 1] }
        return stage
    }

    @Test(
        "Nothing is lost: the new file has all queued webhooks and dead letters",
        arguments: Deed.allCases
    )
    func isMadeAgain(deed: Deed) async throws {
        let first = try await waitingStage()
        try await perform(deed)
        if deed == .replaceByText {
            // It is not touched; webhooks wait in memory until it is removed.
            try await eventually {
                await first.advance(by: 500)
                return log.has(
                    .error,
                    "cannot be used; webhooks wait in memory",
                    "app 1 http://backend.test/hooks: 3"
                )
            }
            #expect(!first.webhooks.counters.isOnDisk, "\(log.text)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 5_000)
            remove([""])
        }
        // Until then the test must not open the files: SQLite must not find one half.
        try await eventually {
            await first.advance(by: 500)
            return log.has(.notice, "is recreated", path)
        }
        #expect(log.has(.error, "was deleted, moved or replaced", path))
        try await eventually { counts() == [3, 1] }
        try await first.waitForCounters { $0.isOnDisk }
        // It is used like the first one.
        await first.report(.channelOccupied(channel("later")))
        try await eventually { counts() == [4, 1] }
        await first.stop()
        #expect(counts() == [4, 1])

        let second = try await stage(clock: first.clock) { _, _ in .answered(status: 200) }
        try await second.waitForCounters { $0.delivered == 4 }
        await second.stop()
        #expect(counts() == [0, 1])
        #expect(!log.has(.error, "are lost"))
    }

    @Test(
        "If it is deleted just before the broker stops, nothing is lost either",
        arguments: [false, true]
    )
    func beforeTheStop(isAllGone: Bool) async throws {
        let stage = try await waitingStage()
        try await perform(isAllGone ? .deleteAll : .deleteDatabase)
        await stage.stop()
        #expect(counts() == [3, 1])
        #expect(log.has(.error, "was deleted, moved or replaced"))
    }

    @Test("While its folder is missing, webhooks wait in memory, and are saved when it is back")
    func withoutItsFolder() async throws {
        let inner = folder.url.appendingPathComponent("inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
        let path = inner.appendingPathComponent("webhooks.sqlite").path
        let stage = try await stage(path: path) { _, number in
            number == 0 ? .answered(status: 410) : number == 1 ? .answered(status: 200) : nil
        }
        await stage.report(.channelOccupied(channel("dead")))
        try await eventually { try queue(path).deadLetterCount() == 1 }
        try FileManager.default.removeItem(at: inner)
        await stage.report(.channelOccupied(channel("delivered")))
        try await stage.waitForCounters { $0.delivered == 1 }
        await stage.report(.channelOccupied(channel("waiting")))
        try await eventually {
            await stage.advance(by: 500)
            // It lists what waits when it is noticed, which may be before the last one.
            return log.has(.error, "cannot be used; webhooks wait in memory")
        }
        try await stage.waitForCounters { !$0.isOnDisk && $0.unsaved == 1 }

        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
        try await eventually {
            await stage.advance(by: 500)
            guard stage.webhooks.counters.isOnDisk else { return false }
            let queue = try queue(path)
            return try queue.deliveryCount() == 1 && queue.deadLetterCount() == 1
        }
        #expect(stage.webhooks.counters.unsaved == 0)
        await stage.stop()
        #expect(try queue(path).deliveryCount() == 1)
    }

    @Test("Webhooks in memory alone are logged as lost when the broker stops, by endpoint")
    func stopWithoutItsFolder() async throws {
        let stage = try await waitingStage()
        try FileManager.default.removeItem(at: folder.url)
        await stage.stop()
        #expect(log.has(.error, "webhooks are lost", "app 1 http://backend.test/hooks: 3"))
    }

    @Test("Webhooks delivered while the file is missing do not return with it")
    func deliveredMeanwhile() async throws {
        let stage = try await waitingStage()
        try await perform(.deleteAll)
        stage.transport.answer(1, .answered(status: 200))
        try await stage.expectRequests(3)
        try await eventually {
            await stage.advance(by: 500)
            return counts() == [2, 1]
        }
        stage.transport.answer(2, .answered(status: 200))
        try await eventually { counts() == [1, 1] }
        await stage.stop()
    }

    @Test("Webhooks of a replacing file are sent")
    func ofAnotherFile() async throws {
        let other = folder.path("other.sqlite")
        let earlier = try await stage(path: other)
        await earlier.report(.channelOccupied(channel("other")))
        try await earlier.expectRequests(1)
        await earlier.stop()

        let stage = try await waitingStage()
        #expect(rename(other, path) == 0)
        try await eventually {
            await stage.advance(by: 500)
            return stage.transport.events.contains { $0.contains(#""channel":"other""#) }
        }
        try await eventually { counts() == [4, 1] }
        await stage.stop()
    }

    @Test("The rescued copy of a killed broker is imported by the next")
    func rescuedByAnEarlierRun() async throws {
        let first = try await waitingStage()
        try queue().rescue()
        let rescued = try Data(contentsOf: URL(fileURLWithPath: WebhookQueue.rescuePath(of: path)))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: WebhookQueue.rescuePath(of: path)
        )
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        await first.stop()
        remove(["", "-wal", "-shm"])
        try rescued.write(to: URL(fileURLWithPath: WebhookQueue.rescuePath(of: path)))

        let second = try await stage(clock: first.clock) { _, _ in .answered(status: 200) }
        try await second.waitForCounters { $0.delivered == 3 }
        await second.stop()
        #expect(counts() == [0, 1])
        #expect(!FileManager.default.fileExists(atPath: WebhookQueue.rescuePath(of: path)))
    }

    @Test("An unreadable copy is renamed")
    func unreadableCopy() async throws {
        let rescued = WebhookQueue.rescuePath(of: path)
        try Data(repeating: 0x41, count: 5_000).write(to: URL(fileURLWithPath: rescued))
        let stage = try await stage { _, _ in .answered(status: 200) }
        #expect(stage.webhooks.counters.isOnDisk)
        #expect(log.has(.error, "it is renamed", rescued + "-unreadable"))
        #expect(FileManager.default.fileExists(atPath: rescued + "-unreadable"))
        await stage.stop()
    }
}
