import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of kept messages") struct RecoveryLimitTests {
    @Test(
        "The oldest messages or positions go, and who missed them is told",
        arguments: [Limit.appRetainedBytes, .retainedBytesTotal, .recoveryPositions]
    )
    func ofKeptMessages(limit: Limit) async throws {
        try await TestBroker.run {
            switch limit {
            case .appRetainedBytes: $0.apps[0].recovery.retainedBytesMax = 64 << 10
            case .retainedBytesTotal:
                $0.retainedBytesTotalMax = 1 << 20
                $0.apps[0].recovery.bytesMax = 16 << 20
            default: $0.apps[0].recovery.positionsMax = 1
            }
        } _: { broker in
            let first = try await TrackingWire(broker, "a")
            let data = String(repeating: "x", count: 10_000)
            if limit == .recoveryPositions {
                first.cut()
                let other = try await TrackingWire(broker, "b")
                other.cut()
            } else {
                for _ in 0..<120 { _ = try await broker.trigger("e", data, on: "b") }
                let count = limit == .appRetainedBytes ? 10 : 120
                for _ in 0..<count { _ = try await broker.trigger("e", data, on: "a") }
                first.cut()
            }
            try await eventually { await broker.hits(limit) > 0 }
            let second = try await TrackingWire(broker, "a", behind: first)
            let reason = limit == .recoveryPositions ? RecoveryGap.Reason.unknownStream : .truncated
            guard case .gap(let gap) = second.start.continuity else {
                Issue.record("\(second.start)")
                return
            }
            #expect(gap.reason == reason)
        }
    }
}
