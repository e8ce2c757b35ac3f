import Broker
import Foundation
import PusherProtocol
import SQLite
import Testing

@testable import Webhooks

@Suite("The queue survives restarts", .timeLimit(.minutes(1))) struct RestartTests {
    private let folder: TemporaryFolder
    private let settings: WebhookSettings

    init() throws {
        folder = try TemporaryFolder()
        settings = WebhookSettings(path: folder.path())
    }

    private func stage(
        clock: ManualClock = ManualClock(),
        path: String? = nil,
        endpoints: [WebhookConfiguration]? = nil,
        _ script: @escaping ScriptedTransport.Script = { _, _ in .answered(status: 200) }
    ) async throws -> Stage {
        var settings = settings
        if let path { settings.path = path }
        return try await Stage(
            settings: settings,
            apps: [app(endpoints: endpoints ?? [endpoint()])],
            clock: clock,
            transport: ScriptedTransport(script)
        )
    }

    private func queue() throws -> WebhookQueue { try WebhookQueue(reading: folder.path()) }

    @Test func whatWasNotDeliveredIsSentByTheNextRunUnchanged() async throws {
        let first = try await stage { _, _ in nil }
        await first.report(.subscriptionCount(channel(), 1), .subscriptionCount(channel(), 2))
        try await first.expectRequests(1)
        await first.stop()
        #expect(try queue().deliveryCount() == 2)

        let second = try await stage(clock: first.clock)
        try await second.waitForCounters { $0.delivered == 2 }
        #expect(second.transport.requests.first == first.transport.requests.first)
        #expect(second.transport.events.map { $0.contains(":1}") } == [true, false])
        await second.stop()
        #expect(try queue().deliveryCount() == 0)
        // The first was cancelled, not refused: there is no dead letter.
        #expect(try queue().deadLetterCount() == 0)
    }

    @Test func aKilledBrokerLosesNothing() async throws {
        let first = try await stage { _, _ in nil }
        await first.report(.channelOccupied(channel()))
        try await eventually { try queue().deliveryCount() == 1 }
        // The content of the disk at any moment is all that a killed process leaves.
        let copy = folder.path("copy.sqlite")
        for ending in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder.path() + ending, toPath: copy + ending)
        }
        let second = try await stage(clock: first.clock, path: copy)
        try await second.waitForCounters { $0.delivered == 1 }
        #expect(second.transport.requests == first.transport.requests)
        await second.stop()
        await first.stop()
    }

    @Test(
        "A damaged row is not sent, and is deleted; the others are sent",
        arguments: [
            "events = x'7B7E'", "url = 'http://b.test'", "id = 9223372036854775807", "id = -1",
            "time_ms = -9223372036854775807 - 1", "time_ms = 9223372036854775807",
            "ordinal = 9223372036854775807", "channels = 'other'", "crc = 7",
        ]
    )
    func damaged(change: String) async throws {
        let first = try await stage { _, _ in nil }
        await first.report(.channelOccupied(channel("a")))
        try await first.expectRequests(1)
        await first.report(.channelOccupied(channel("b")))
        try await first.expectRequests(2)
        await first.stop()
        #expect(try queue().deliveryCount() == 2)
        let database = try SQLiteDatabase(path: folder.path(), busyTimeout: 0)
        try database.write {
            try $0.execute("UPDATE deliveries SET \(change) WHERE channels = 'b'")
        }
        database.close()
        let second = try await stage(clock: first.clock)
        try await second.waitForCounters { $0.delivered == 1 && $0.damaged == 1 }
        await second.stop()
        #expect(second.transport.requests == [first.transport.requests[0]])
        #expect(try queue().deliveryCount() == 0)
    }

    @Test("A damaged dead letter is not listed, nor replayed, and is deleted")
    func damagedLetter() async throws {
        let first = try await stage { _, _ in .answered(status: 410) }
        await first.report(.channelOccupied(channel("a")))
        try await first.waitForCounters { $0.dead == 1 }
        await first.stop()
        let database = try SQLiteDatabase(path: folder.path(), busyTimeout: 0)
        try database.write {
            try $0.execute("UPDATE dead_letters SET is_replayed = 1, death_ms = 1 << 62")
        }
        database.close()
        #expect(try queue().deadLetters().isEmpty)
        let second = try await stage(clock: first.clock)
        await second.report(.channelOccupied(channel("b")))
        try await second.waitForCounters { $0.delivered == 1 && $0.damaged == 1 }
        await second.stop()
        #expect(second.transport.requests.count == 1)
        #expect(try queue().deadLetterCount() == 0)
    }

    @Test func whatIsTooOldAtTheStartIsADeadLetter() async throws {
        let first = try await stage { _, _ in nil }
        await first.report(.channelOccupied(channel()))
        try await first.expectRequests(1)
        await first.stop()
        first.clock.advance(by: 300_001)
        let second = try await stage(clock: first.clock)
        try await second.waitForCounters { $0.dead == 1 }
        await second.stop()
        #expect(second.transport.requests.isEmpty)
        #expect(try queue().deadLetters().map(\.cause) == [.expired])
    }

    @Test func aRemovedEndpointReceivesNothingAfterTheStart() async throws {
        let first = try await stage { _, _ in nil }
        await first.report(.channelOccupied(channel()))
        await first.stop()
        let second = try await stage(clock: first.clock, endpoints: [endpoint("http://b.test")])
        try await second.waitForCounters { $0.dead == 1 }
        await second.stop()
        #expect(try queue().deadLetters().map(\.cause) == [.unconfigured])
    }

    @Test func aDeadLetterIsReplayedAsANewWebhook() async throws {
        let stage = try await stage { _, number in .answered(status: number == 0 ? 410 : 200) }
        await stage.report(.channelOccupied(channel()))
        try await eventually { try queue().deadLetterCount() == 1 }
        let letter = try #require(try queue().deadLetters().first)
        stage.clock.advance(by: 600_000)
        #expect(try queue().replay(letter.id))
        try await eventually {
            await stage.advance(by: 100)
            return stage.webhooks.counters.delivered == 1
        }
        let (old, new) = (stage.transport.bodies[0], stage.transport.bodies[1])
        #expect(old.contains(#""time_ms":1700000000123"#))
        let time = try #require(Int64(new.dropFirst(#"{"time_ms":"#.count).prefix(13)))
        #expect(time >= ManualClock.start + 600_000)
        #expect(stage.transport.events[0] == stage.transport.events[1])
        let ids = stage.transport.requests.map { $0.headers.first { $0.name == "X-Delivery-Id" } }
        #expect(ids[0]?.value != ids[1]?.value)
        try await eventually { try queue().deadLetterCount() == 0 }
        await stage.stop()
        #expect(try queue().deliveryCount() == 0)
    }

    @Test func aReplayWhileNoBrokerRunsWaitsForTheNext() async throws {
        let first = try await stage { _, _ in .answered(status: 410) }
        await first.report(.channelOccupied(channel()))
        try await first.waitForCounters { $0.dead == 1 }
        await first.stop()
        #expect(try queue().replayAll() == 1)
        let second = try await stage(clock: first.clock)
        try await second.waitForCounters { $0.delivered == 1 }
        await second.stop()
        #expect(try queue().deadLetterCount() == 0)
    }

    @Test func webhooksAreSentWithoutAUsableFile() async throws {
        let missing = folder.path("missing/webhooks.sqlite")
        let stage = try await stage(path: missing) { _, number in
            number == 0 ? .answered(status: 200) : nil
        }
        #expect(!stage.webhooks.counters.isOnDisk)
        await stage.report(.channelOccupied(channel("a")))
        try await stage.waitForCounters { $0.delivered == 1 }
        // It is retried, and receives the changes made meanwhile.
        await stage.report(.channelOccupied(channel("b")))
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("missing"),
            withIntermediateDirectories: false
        )
        try await eventually {
            await stage.advance(by: 1_000)
            return stage.webhooks.counters.isOnDisk
        }
        try await eventually { try WebhookQueue(reading: missing).deliveryCount() == 1 }
        await stage.stop()
    }

    @Test func webhooksAreSentWhileAnotherProcessLocksTheFile() async throws {
        let stage = try await stage()
        try await stage.waitForCounters { $0.isOnDisk }
        let holder = try FileHolder(path: folder.path())
        await stage.report(.channelOccupied(channel("a")), .channelOccupied(channel("b")))
        try await stage.waitForCounters { $0.delivered == 2 }
        try holder.release()
        await stage.stop()
        #expect(try queue().deliveryCount() == 0)
    }

    @Test func withoutAFileDeadLettersAreCounted() async throws {
        let stage = try await Stage(
            apps: [app(endpoints: [endpoint()])],
            transport: ScriptedTransport { _, _ in .answered(status: 410) }
        )
        await stage.report(.channelOccupied(channel()))
        try await stage.waitForCounters { $0.dead == 1 && $0.queued == 0 }
        #expect(!stage.webhooks.counters.isOnDisk)
        await stage.stop()
    }
}
