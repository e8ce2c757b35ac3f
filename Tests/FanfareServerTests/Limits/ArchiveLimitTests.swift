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
}
