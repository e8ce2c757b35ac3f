import Foundation
import Redis
import RedisModel
import TestRedis
import Testing

@Suite("Model of Redis against a real server") struct DifferentialTests {
    /// The calls of all seeds together; `CALLS=1000000` for more.
    private static let callCount =
        ProcessInfo.processInfo.environment["CALLS"].flatMap { Int($0) } ?? 102_400
    private static let seedCount = 16

    @Test("Replies, messages and data are the same", arguments: 1...UInt64(seedCount))
    func agrees(seed: UInt64) throws {
        let differential = try Differential()
        var calls = RandomCalls(
            seed: seed,
            keys: Differential.keys,
            scripts: Differential.scripts
        )
        let count = Self.callCount / Self.seedCount
        for number in 1...count {
            try differential.wait(calls.pause())
            if number.isMultiple(of: 16) {
                try differential.read(calls.nextRead(differential.model.data))
            } else {
                try differential.send(calls.next(differential.model.data))
            }
            if number.isMultiple(of: 64) { try differential.settle() }
            if number.isMultiple(of: 1_024) { try differential.compareData() }
        }
        try differential.compareData()
        #expect(differential.callCount == count)
        // Random calls could miss what they are to compare.
        if count >= 2_000 {
            #expect(Self.outcomes.subtracting(differential.outcomes) == [])
        }
    }

    /// What the calls of each seed have to lead to.
    private static let outcomes: Set = Set(
        [
            "register": "9", "heartbeat": "9", "condemn": "0 1 2 3 4",
            "publish": "counted numbered placed repeated stale CONFLICT",
            "open": "placed repeated CONFLICT", "purge": "position", "positions": "9",
            "trim": "none 0 1", "attach": "1 9 FENCED", "detach": "0 1 FENCED MEMBERS",
            "count": "0 1", "join": "0 1 2 FENCED DETACHED", "leave": "0 1 2 FENCED",
            "reap": "0 1 ALIVE", "user": "0 1 FENCED ALIVE", "watch": "0 1", "terminate": "9",
            "offline": "0 1", "claim": "new resumed checkpoint awaited superseded shared",
            "park": "0 1 2", "settle": "0 1",
        ].flatMap { name, outcomes in outcomes.split(separator: " ").map { "\(name) \($0)" } }
    )
}
