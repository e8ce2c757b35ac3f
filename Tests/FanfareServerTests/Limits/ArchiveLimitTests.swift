import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of the archive") struct ArchiveLimitTests {
    @Test(
        "Too many events that wait are refused; of too many in the file the oldest go",
        arguments: [Limit.unstoredBytes, .databaseBytes]
    )
    func ofStoredMessages(limit: Limit) async throws {
        var stored = try StoredBroker()
        stored.change = { configuration in
            switch limit {
            case .unstoredBytes: configuration.recovery.unstoredBytesMax = 0
            default: configuration.recovery.databaseBytesMax = 1
            }
        }
        try await stored.run { broker in
            let answer = try await broker.trigger("1", on: "stored", members: "")
            if limit == .unstoredBytes {
                #expect(answer.status == 503 && answer.head.contains("Retry-After: 1"))
                // Channels in memory are not concerned.
                #expect(try await broker.trigger("1", on: "other", members: "").status == 200)
            } else {
                #expect(answer.status == 200)
            }
            try await eventually { await broker.hits(limit) > 0 }
        }
    }

    @Test(
        "While others are read and not queued, replays and histories from the file wait",
        arguments: [true, false]
    )
    func ofReads(areReplays: Bool) async throws {
        var stored = try StoredBroker()
        // An eighth is less than a replay may have: one read at a time.
        stored.change = { $0.queuedBytesTotalMax = 4 << 20 }
        let channels = (0..<8).map { "stored-\($0)" }
        let data = String(repeating: "x", count: 90_000)
        try await stored.run { broker in
            for channel in channels {
                let answer = try await broker.trigger(data, on: channel, members: "")
                #expect(answer.status == 200)
            }
        }
        // After a restart the messages are in the file alone.
        try await stored.run(loops: 2) { broker in
            if areReplays {
                let (client, _) = try await broker.connected()
                let rewind = #""position":{},"rewind":{"count":1}"#
                let messages = channels.map {
                    Frames.text(
                        #"{"event":"pusher:subscribe","data":{"channel":"\#($0)",\#(rewind)}}"#
                    )
                }
                try client.wire.send(messages.flatMap(\.self))
                var replayedCount = 0
                for _ in 0..<2 * channels.count {
                    if try await client.nextText().contains(data) { replayedCount += 1 }
                }
                #expect(replayedCount == channels.count)
            } else {
                let wire = try Wire(port: broker.port)
                let requests = channels.map {
                    SignedRequest(method: "GET", path: "/apps/1/channels/\($0)/history").text
                }
                try wire.send(requests.joined())
                for _ in channels { #expect(try await wire.answer().body.contains(data)) }
            }
            #expect(await broker.hits(.archiveReadBytes) > 0)
            try await eventually { await broker.metric("fanfare_store_read_bytes") == 0 }
        }
    }
}
