import Broker
import BrokerConfiguration
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

extension RedisProcess {
    /// Removes all keys of a pattern, and returns their number.
    fileprivate func removeKeys(_ pattern: String) throws -> Int? {
        let script = "return redis.call('DEL', unpack(redis.call('KEYS', ARGV[1])))"
        return Int(try command("EVAL", script, "0", pattern).dropFirst())
    }

    /// The number of keys of a pattern.
    fileprivate func keyCount(_ pattern: String) throws -> Int? {
        let script = "return #redis.call('KEYS', ARGV[1])"
        return Int(try command("EVAL", script, "0", pattern).dropFirst())
    }

    /// The number of calls of scripts, of all nodes.
    fileprivate var scriptCallCount: Int {
        get throws {
            let text = try command("INFO", "commandstats")
            let count = text.firstMatch(of: /cmdstat_evalsha:calls=(\d+)/)
            return try #require(count.flatMap { Int($0.1) })
        }
    }
}

@Suite("Cluster: behind a loss of the connection") struct CatchUpTests {
    /// Runs a cluster whose first node reaches Redis through a relay.
    private func run(
        loops: Int = 2,
        isRecoverable: Bool = true,
        _ body: (TestCluster, RedisRelay) async throws -> Void
    ) async throws {
        try await TestCluster.runRelayed(loops: loops) { configuration in
            configuration.apps[0].recovery.isEnabled = isRecoverable
            configuration.cluster.redis.patience = 20
            // Longer than a busy machine needs for all events.
            configuration.cluster.closeAfter = 300
        } _: {
            try await body($0, $1)
        }
    }

    private func trigger(_ node: TestBroker, _ range: ClosedRange<Int>) async throws {
        for number in range {
            #expect(try await node.trigger("e", "\(number)", on: "a").status == 200)
        }
    }

    private func expectEvents(_ client: WebSocketWire, _ range: ClosedRange<Int>) async throws {
        for number in range {
            let text = try await client.nextText()
            let expected = eventText("e", "a", data: "\(number)").dropLast()
            #expect(text.hasPrefix(expected), "\(text)")
        }
    }

    @Test(
        "Subscribers get what was published meanwhile, and notice nothing",
        arguments: [1, 2],
        [3, 600]
    )
    func catchesUp(loops: Int, count: Int) async throws {
        try await run(loops: loops) { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            let (client, _) = try await here.subscribed(to: "a")
            try await trigger(there, 1...2)
            try await expectEvents(client, 1...2)
            #expect(try await tracking.next(2) == ["1", "2"])
            try await relay.set(.cut)
            try await trigger(there, 3...count)
            try await relay.set(.open)
            try await expectEvents(client, 3...count)
            #expect(try await tracking.next(count - 2) == (3...count).map { "\($0)" })
            // Live again.
            try await trigger(there, count + 1...count + 1)
            try await expectEvents(client, count + 1...count + 1)
        }
    }

    @Test("Who subscribes meanwhile gets what comes behind the grant")
    func subscribesMeanwhile() async throws {
        try await run { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            try await trigger(there, 1...1)
            #expect(try await tracking.next() == "1")
            try await relay.set(.cut)
            try await trigger(there, 2...3)
            let (client, _) = try await here.connected()
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"a"}}"#)
            try await client.expectNothing()
            try await relay.set(.open)
            #expect(try await client.nextText().contains("subscription_succeeded"))
            #expect(try await tracking.next(2) == ["2", "3"])
            try await trigger(there, 4...4)
            try await expectEvents(client, 4...4)
            #expect(try await tracking.next() == "4")
        }
    }

    @Test("A connection that passes on nothing is replaced", .timeLimit(.minutes(1)))
    func stalls() async throws {
        try await run { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            try await trigger(there, 1...1)
            #expect(try await tracking.next() == "1")
            try await relay.set(.stalled)
            try await trigger(there, 2...4)
            // Longer than Redis may take for an answer.
            try await Task.sleep(for: .seconds(6))
            try await relay.set(.open)
            #expect(try await tracking.next(3) == ["2", "3", "4"])
        }
    }

    @Test(
        "A node that is taken for dead while it reads what it has missed is attached again",
        .timeLimit(.minutes(1))
    )
    func isTakenForDeadMeanwhile() async throws {
        try await run(loops: 1) { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            try await trigger(there, 1...1)
            #expect(try await tracking.next() == "1")
            // More than one call reads.
            try await relay.set(.cut)
            try await trigger(there, 2...400)
            try await relay.set(.withholding(behind: "\"data\":\"2\""))
            try await eventually { relay.isWithholding }
            // As another node does it.
            let counts = "f:{*}:n:1:a"
            #expect(try cluster.redis.removeKeys("f:{*}:i:node-0*") == 8)
            #expect(try cluster.redis.removeKeys(counts) == 1)
            // Each node has had a heartbeat in each partition, every two seconds, before the connection counts as lost.
            let calls = try cluster.redis.scriptCallCount
            try await eventually { try cluster.redis.scriptCallCount >= calls + 24 }
            try await relay.set(.open)
            #expect(try await tracking.next(399) == (2...400).map { "\($0)" })
            try await eventually { try cluster.redis.keyCount(counts) == 1 }
        }
    }

    @Test("On a channel without positions clients reconnect if something was published")
    func withoutPositions() async throws {
        try await run(isRecoverable: false) { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (client, _) = try await here.subscribed(to: "a")
            try await relay.set(.cut)
            try await relay.set(.open)
            // Granted by the next connection. Nothing was published before: the first client stays.
            _ = try await here.subscribed(to: "a")
            try await trigger(there, 1...1)
            try await expectEvents(client, 1...1)
            try await relay.set(.cut)
            try await trigger(there, 2...2)
            try await relay.set(.open)
            let error = try await client.nextText()
            #expect(error.contains("4200"), "\(error)")
        }
    }

    @Test("An ephemeral event is for those who can be reached: what a cut has missed is not told")
    func ephemeral() async throws {
        try await run { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            let (client, _) = try await here.subscribed(to: "a")
            func publish(_ data: String) async throws {
                let body = #"{"name":"e","channels":["a"],"data":"\#(data)","ephemeral":true}"#
                let answer = try await Wire(port: there.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body))
                #expect(answer.status == 200)
            }
            try await publish("0")
            for wire in [tracking.client, client] {
                #expect(try await wire.nextText() == eventText("e", "a", data: "0"))
            }
            try await relay.set(.cut)
            try await publish("lost")
            try await trigger(there, 1...2)
            try await relay.set(.open)
            #expect(try await tracking.next(2) == ["1", "2"])
            try await expectEvents(client, 1...2)
            try await publish("3")
            for wire in [tracking.client, client] {
                #expect(try await wire.nextText() == eventText("e", "a", data: "3"))
            }
        }
    }

    @Test("Another server begins an epoch: who tracks a channel is told of a gap, others reconnect")
    func anotherServer() async throws {
        let other = try RedisProcess()
        try await run { cluster, relay in
            let here = cluster.nodes[0]
            let tracking = try await TrackingWire(here, "a")
            let (client, _) = try await here.subscribed(to: "a")
            try await trigger(here, 1...1)
            #expect(try await tracking.next() == "1")
            try await expectEvents(client, 1...1)
            try await relay.set(.cut)
            relay.retarget(to: other.socket)
            try await relay.set(.open)
            let error = try await client.nextText()
            #expect(error.contains("4200"), "\(error)")
            let start = try await tracking.restart()
            #expect(start.continuity == .gap(RecoveryGap(.unknownStream)))
            #expect(start.position.stream != tracking.position.stream)
            #expect(start.position.serial == 0)
            try await trigger(here, 2...2)
            #expect(try await tracking.client.nextText().hasSuffix(#","serial":1}"#))
        }
    }

    @Test("Events in flight are published once, or the publisher is told that nobody knows")
    func inFlight() async throws {
        try await run { cluster, relay in
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            let node = cluster.nodes[0]
            @Sendable func send(_ number: Int) async throws -> Int {
                let key = number % 2 == 0 ? #","idempotency_key":"\#(number)""# : ""
                let body = #"{"name":"e","channels":["a"],"data":"\#(number)"\#(key)}"#
                return try await Wire(port: node.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body)).status
            }
            let count = 200
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<4 {
                        try await Task.sleep(for: .milliseconds(50))
                        try await relay.set(.cut)
                        try await relay.set(.open)
                    }
                }
                group.addTask {
                    for number in 0..<count {
                        let status = try await send(number)
                        // Only an event without a key may be lost, and its publisher knows.
                        #expect(status == 200 || status == 503 && number % 2 == 1)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await send(count) == 200)
            var seen: [Int] = []
            while seen.last != count {
                let text = try await client.nextText()
                let match = try #require(text.firstMatch(of: /"data":"(\d+)"/))
                seen.append(try #require(Int(match.1)))
            }
            #expect(seen == Array(Set(seen)).sorted())
            #expect(Set(seen).isSuperset(of: (0...count).filter { $0 % 2 == 0 }))
        }
    }
}
