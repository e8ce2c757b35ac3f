import Foundation
import Redis
import RedisModel
import Synchronization
import TestRedis
import Testing

@Suite("Model of Redis against a real server") struct DifferentialTests {
    /// The calls of all seeds together; `CALLS=1000000` for more.
    private static let callCount =
        ProcessInfo.processInfo.environment["CALLS"].flatMap { Int($0) } ?? 102_400
    private static let seedCount = 16

    @Test("Replies, messages and data are the same", arguments: 1...UInt64(seedCount))
    func agrees(seed: UInt64) async throws {
        let differential = try Differential()
        var calls = RandomCalls(
            seed: seed,
            partitions: Differential.partitions,
            scripts: differential.scripts
        )
        let count = Self.callCount / Self.seedCount
        for number in 1...count {
            try differential.wait(calls.pause(differential.model.data))
            if number.isMultiple(of: 16) {
                try differential.read(calls.nextRead(differential.model.data))
            } else {
                try differential.send(calls.next(differential.model.data))
            }
            if number.isMultiple(of: 64) {
                try differential.settle()
                // Other tests have their turn, some of which are limited in time.
                await Task.yield()
            }
            if number.isMultiple(of: 1_024) { try differential.compareData() }
        }
        try differential.compareData()
        #expect(differential.callCount == count)
        let reached = Self.reached.withLock { reached in
            reached.seedCount += 1
            reached.outcomes.formUnion(differential.outcomes)
            return reached.seedCount == Self.seedCount ? reached.outcomes : nil
        }
        // Random calls could miss what they are to compare.
        if let reached { #expect(Self.outcomes.subtracting(reached) == []) }
    }

    /// What the calls of the seeds that are done have led to.
    private static let reached = Mutex<(seedCount: Int, outcomes: Set<String>)>((0, []))

    @Test("The most items of a call are the same")
    func agreesOnLimits() throws {
        let differential = try Differential(webhooksMax: 2_000)
        func calls(of node: String = "a") -> PartitionCalls {
            PartitionCalls(node: node, keys: Differential.keys, scripts: differential.scripts)
        }
        func register(_ node: String) throws {
            let server = ClusterStore.server("1")
            try differential.send(calls(of: node).register(with: server, known: 0, .primary))
        }
        func settle() throws {
            try differential.settle()
            try differential.compareData()
        }
        let channels = (0..<70).map { ClusterStore.channel("c\($0)") }
        let rules = ChannelRules(webhooks: .occupancy)

        // Dead nodes, of which a heartbeat names 16.
        for number in 0..<20 { try register("n\(number)") }
        try differential.wait(10_001)
        try register("a")
        try differential.send(calls().heartbeat(lease: 10_000, .primary))

        // Webhooks and departures, of which the timers take 64.
        for channel in channels {
            try differential.send(calls().attach(to: [.init(to: channel, count: 1, [], rules)]))
        }
        let webhooks = ByteString(Differential.keys.webhooks.description)
        func timers(after last: Int?) throws {
            let ids = differential.model.data[stream: webhooks]?.entries.map(\.id) ?? []
            let id = last.map { ids[$0] }
            try differential.send(
                calls().timers(
                    after: id.map { StreamPosition(stream: $0.stream, serial: $0.serial) }
                )
            )
        }
        try timers(after: nil)
        try timers(after: 63)
        for channel in channels { try differential.send(calls().detach(from: channel, rules)) }
        try differential.wait(3_000)
        try differential.send(calls().heartbeat(lease: 10_000, .primary))
        for _ in 0..<3 { try timers(after: 69) }
        try settle()

        // Old messages, of which 64 are removed.
        let old = message(lengthMax: 1_000, "e - 1 old")
        try differential.send(calls().publish(Array(repeating: old, count: 64), opens: true))
        try differential.send(calls().publish(Array(repeating: old, count: 6), opens: true))
        try differential.wait(60_000)
        for _ in 0..<3 {
            try differential.send(calls().trim(old.channel, age: 1, interval: 60_000))
        }

        // Long messages, whose bytes count in steps, and more than a stream keeps.
        var long = message(
            on: "long",
            lengthMax: 20,
            "e - 1 " + String(repeating: "x", count: 1_500)
        )
        for count in [1, 11, 30, 3, 20] {
            try differential.send(
                calls().publish(Array(repeating: long, count: count), opens: true)
            )
        }
        long.budgets = .init(appBytesMax: 24_000, bytesMax: 20_000)
        for _ in 0..<4 { try differential.send(calls().publish([long], opens: true)) }
        try differential.wait(60_000)
        try differential.send(calls().trim(long.channel, age: 1, interval: 60_000))

        // Expired sessions, of which a claim forgets 16.
        for number in 0..<40 {
            if number == 20 { try differential.wait(1_000) }
            let session = ClusterSession(app: "1", token: "t\(number)")
            try differential.send(
                calls().claim(
                    session,
                    for: .init(socketID: "1.1", openedAt: 1),
                    age: 1_000,
                    sessionsMax: 100
                )
            )
        }
        try settle()

        // Dead webhooks, of which 1,000 are kept.
        var reported = message(in: .none)
        reported.webhook = Array("{}".utf8)
        for _ in 0..<16 {
            try differential.send(calls().publish(Array(repeating: reported, count: 64)))
        }
        let ids = differential.model.data[stream: webhooks]?.entries.map(\.id) ?? []
        #expect(ids.count > 1_024)
        for start in stride(from: 0, to: ids.count, by: 64) {
            let dead = ids[start..<min(start + 64, ids.count)].map {
                StreamPosition(stream: $0.stream, serial: $0.serial)
            }
            try differential.send(calls().settle(delivered: [], dead: dead))
        }
        try settle()

        // Numbers, of which there are 1,023.
        for _ in 0..<1_023 {
            try differential.send(calls().claimNumber(former: 0, lifetime: 1_000))
        }
        try differential.send(calls(of: "b").claimNumber(former: 0, lifetime: 1_000))
        try differential.wait(1_000)
        try differential.send(calls(of: "b").claimNumber(former: 0, lifetime: 1_000))
        try settle()
        #expect(differential.outcomes.isSuperset(of: ["number 0", "trim 9", "settle 9"]))
    }

    /// What the calls of all seeds together have to lead to.
    private static let outcomes: Set = Set(
        [
            "register": "9", "heartbeat": "9", "number": "1 2 3", "condemn": "0 1 2 3 4",
            "publish": "counted numbered placed repeated stale CONFLICT",
            "open": "placed repeated CONFLICT", "purge": "position none", "positions": "9",
            "trim": "none 0 1", "attach": "1 9 FENCED", "detach": "0 1 FENCED MEMBERS",
            "count": "0 1", "join": "0 1 2 FENCED DETACHED", "leave": "0 1 2 FENCED",
            "reap": "0 1 ALIVE", "user": "0 1 FENCED ALIVE", "watch": "0 1", "terminate": "9",
            "offline": "0 1", "claim": "new full resumed checkpoint awaited superseded shared",
            "park": "0 1 2 3 4", "settle": "0 1",
        ].flatMap { name, outcomes in outcomes.split(separator: " ").map { "\(name) \($0)" } }
    )
}
