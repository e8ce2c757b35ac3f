import BrokerConfiguration
import PusherProtocol
import TestPorts
import TestRedis
import Testing

@testable import FanfareServer

/// Redis fails over to a replica that has everything, as `acknowledge: replica` with all replicas guarantees it.
@Suite("Cluster: a failover without a loss") struct CleanFailoverTests {
    /// Two nodes, each of which reaches a primary with a replica over a relay.
    private struct Store {
        let cluster: TestCluster
        let primary: RedisProcess
        let replica: RedisProcess
        let relays: [RedisRelay]

        /// Promotes the replica, when it has everything; no node has a connection then.
        func failOver() async throws {
            for relay in relays { try await relay.set(.cut) }
            let all = """
                for _, key in ipairs(redis.call('KEYS', '*}:g')) do
                    redis.call('HSET', key, 'mode', 'all')
                end
                """
            try primary.command("EVAL", all, "0")
            try primary.command("SET", "last", "1")
            try await eventually { try replica.command("EXISTS", "last") == ":1" }
            try replica.command("REPLICAOF", "NO", "ONE")
            for relay in relays { relay.retarget(to: replica.socket) }
        }
    }

    private func run(loops: Int, _ body: (Store) async throws -> Void) async throws {
        let port = freePort()
        let primary = try RedisProcess([
            "--port", "\(port)", "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0",
        ])
        let replica = try RedisProcess(["--replicaof", "127.0.0.1 \(port)"])
        let started = try replica.milliseconds
        let relays = (0..<2).map { _ in RedisRelay(to: primary.socket) }
        defer { for relay in relays { relay.end() } }
        // Before it has a replica, a server has another history.
        try primary.command("SET", "first", "1")
        try await eventually { try replica.command("EXISTS", "first") == ":1" }
        try await TestCluster.run(loops: loops, redis: primary) { configuration in
            let index = configuration.cluster.node == "node-0" ? 0 : 1
            configuration.cluster.redis.urls = [relays[index].address]
            configuration.cluster.redis.patience = 20
        } _: { cluster in
            try await primary.outlasts(startAt: started)
            try await body(
                Store(cluster: cluster, primary: primary, replica: replica, relays: relays)
            )
        }
        withExtendedLifetime(replica) {}
    }

    private func trigger(_ node: TestBroker, _ range: ClosedRange<Int>) async throws {
        for number in range {
            #expect(try await node.trigger("e", "\(number)", on: "a").status == 200)
        }
    }

    private func texts(_ range: ClosedRange<Int>) -> [String?] { range.map { "\($0)" } }

    /// Reads the messages of another stream.
    private func expectMessages(
        _ range: ClosedRange<Int>,
        from serial: Int,
        _ client: TrackingWire
    ) async throws {
        for (index, number) in range.enumerated() {
            let text = try await client.client.nextText()
            let end = #","data":"\#(number)","serial":\#(serial + index)}"#
            #expect(text.hasSuffix(end), "\(text)")
        }
    }

    @Test(
        "Live subscriptions and returning clients go on in the next stream, with the rest of the former one",
        .timeLimit(.minutes(2)),
        arguments: [1, 2]
    )
    func continues(loops: Int) async throws {
        try await run(loops: loops) { store in
            let (here, there) = (store.cluster.nodes[0], store.cluster.nodes[1])
            let tokens = (0..<2).map { _ in StockWire.token(in: 120) }
            // Who stays.
            let tracking = try await TrackingWire(here, "a")
            let (stock, _) = try await here.subscribed(to: "a")
            let kept = try await StockWire(here, tokens[0])
            #expect(try await kept.subscribe(to: "a") == "{}")
            // Who comes back, having got a part of the former stream, and all of it.
            let part = try await TrackingWire(there, "a")
            let whole = try await TrackingWire(there, "a")
            let returning = try await StockWire(there, tokens[1])
            #expect(try await returning.subscribe(to: "a") == "{}")
            try await trigger(there, 1...3)
            #expect(try await part.next(3) == texts(1...3))
            part.cut()
            #expect(try await returning.events(3) == texts(1...3))
            try await returning.confirm()
            try await returning.cut(there)
            #expect(try await tracking.next(3) == texts(1...3))
            try await store.relays[0].set(.cut)
            try await trigger(there, 4...5)
            #expect(try await whole.next(5) == texts(1...5))
            whole.cut()

            try await store.failOver()
            try await store.relays[1].set(.open)
            try await trigger(there, 6...7)
            let again = try await TrackingWire(there, "a", behind: part)
            #expect(again.start.continuity == .recovered(replay: 2))
            #expect(again.position == part.position)
            #expect(try await again.next(2) == texts(4...5))
            let next = try await again.restart()
            #expect(next.position.stream != part.position.stream && next.position.serial == 0)
            #expect(next.continuity == .recovered(replay: 2))
            try await expectMessages(6...7, from: 1, again)
            let second = try await TrackingWire(there, "a", behind: whole)
            #expect(second.start == next)
            #expect(try await second.next(2) == texts(6...7))
            let token = try await StockWire(there, tokens[1])
            #expect(try await token.subscribe(to: "a") == #"{"recovered":true,"replay":4}"#)
            #expect(try await token.events(4) == texts(4...7))
            // It has confirmed nothing of it.
            try await token.cut(there)

            try await store.relays[0].set(.open)
            #expect(try await tracking.next(2) == texts(4...5))
            let restart = try await tracking.restart()
            #expect(restart.position == next.position)
            #expect(restart.continuity == .recovered(replay: 0))
            try await expectMessages(6...7, from: 1, tracking)
            for number in 1...7 {
                let text = try await stock.nextText()
                #expect(text.contains(#""data":"\#(number)""#), "\(text)")
            }
            #expect(try await kept.events(7) == texts(1...7))
            try await kept.confirm()
            try await kept.cut(here)
            try await trigger(here, 8...8)
            for (token, replay) in zip(tokens, [1, 5]) {
                let client = try await StockWire(here, token)
                let data = try await client.subscribe(to: "a")
                #expect(data == #"{"recovered":true,"replay":\#(replay)}"#)
                #expect(try await client.events(replay) == texts(9 - replay...8))
            }
            #expect(try await tracking.client.nextText().contains(#""data":"8","serial":3}"#))
        }
    }

    @Test(
        "What a failover has lost is told, and so is what was purged since",
        arguments: [true, false]
    )
    func gaps(isPurged: Bool) async throws {
        try await run(loops: 1) { store in
            let (here, there) = (store.cluster.nodes[0], store.cluster.nodes[1])
            let former = try await TrackingWire(there, "a")
            try await trigger(there, 1...3)
            #expect(try await former.next(3) == texts(1...3))
            let live = try await TrackingWire(here, "a")
            former.cut()
            if isPurged {
                try await store.failOver()
            } else {
                for relay in store.relays { try await relay.set(.cut) }
                try store.replica.command("REPLICAOF", "NO", "ONE")
                for relay in store.relays { relay.retarget(to: store.replica.socket) }
            }
            for relay in store.relays { try await relay.set(.open) }
            try await trigger(there, 4...4)
            let text = try await live.restart()
            if isPurged {
                #expect(text.continuity == .recovered(replay: 0))
                let target = "/apps/1/channels/a/history"
                let purged = try await Wire(port: there.port)
                    .ask(SignedRequest(method: "DELETE", path: target))
                #expect(purged.status == 200)
            } else {
                #expect(text.continuity == .gap(RecoveryGap(.unknownStream)))
            }
            let again = try await TrackingWire(there, "a", behind: former)
            #expect(again.start.continuity == .gap(RecoveryGap(.unknownStream)))
        }
    }
}
