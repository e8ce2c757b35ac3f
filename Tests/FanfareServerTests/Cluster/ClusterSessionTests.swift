import BrokerConfiguration
import Foundation
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: sessions of stock clients") struct ClusterSessionTests {
    /// A token that the cluster would know if it had been used, although Redis has just been started.
    private func token() -> String { StockWire.token(in: 120) }

    private func trigger(
        _ node: TestBroker,
        _ data: String,
        on channel: String = "a"
    ) async throws {
        #expect(try await node.trigger("e", data, on: channel).status == 200)
    }

    private func acknowledgement(replay: Int?) -> String {
        replay.map { #"{"recovered":true,"replay":\#($0)}"# } ?? #"{"recovered":false}"#
    }

    /// A client that has confirmed event 1 of a node, and has got event 2 of its own.
    private func subscriber(
        of node: TestBroker,
        _ token: String,
        to channel: String,
        from other: TestBroker
    ) async throws -> StockWire {
        let client = try await StockWire(node, token)
        #expect(try await client.subscribe(to: channel) == "{}")
        try await trigger(other, "1", on: channel)
        #expect(try await client.events(1) == ["1"])
        try await client.confirm()
        try await trigger(node, "2", on: channel)
        #expect(try await client.events(1) == ["2"])
        return client
    }

    /// A digest of what Redis has stored of all sessions.
    private func stored(_ redis: RedisProcess) throws -> String {
        let script = """
            local all = ''
            for _, key in ipairs(redis.call('KEYS', '*:s:1')) do
                for _, value in ipairs(redis.call('HVALS', key)) do all = all .. value end
            end
            return redis.status_reply(redis.sha1hex(all))
            """
        return try redis.command("EVAL", script, "0")
    }

    /// Answers all pings of a client until it is told that another one uses its token.
    private func answerUntilShared(_ client: StockWire) async throws {
        while true {
            let text = try await client.client.next().text
            if text.contains("Two clients use one session token") { return }
            guard text.contains(#""pusher:ping""#) else { continue }
            try client.client.send(#"{"event":"pusher:pong","data":{}}"#)
        }
    }

    @Test(
        "What was not confirmed comes again on another node, and what was missed",
        arguments: [1, 2]
    )
    func resumes(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            for channel in ["a", "b", "private-c"] {
                let token = token()
                let first = try await subscriber(of: here, token, to: channel, from: there)
                try await first.cut(here)
                try await trigger(here, "3", on: channel)
                let second = try await StockWire(there, token)
                #expect(try await second.subscribe(to: channel) == acknowledgement(replay: 2))
                #expect(try await second.events(2) == ["2", "3"])
                try await second.pong()
                try await trigger(here, "4", on: channel)
                #expect(try await second.events(1) == ["4"])
                try await second.confirm()
                try await second.cut(there)
                let third = try await StockWire(here, token)
                #expect(try await third.subscribe(to: channel) == acknowledgement(replay: 0))
                // A channel that the session does not know, because it is new there.
                #expect(try await third.subscribe(to: channel + "-2") == "{}")
            }
        }
    }

    @Test(
        "A connection takes over from one on another node that seems to live; if it does, both are told",
        arguments: [1, 2]
    )
    func sharedTokens(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let token = token()
            let first = try await subscriber(of: here, token, to: "a", from: here)
            let second = try await StockWire(there, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement(replay: 1))
            #expect(try await second.events(1) == ["2"])
            try await answerUntilShared(first)
            #expect(try await second.next().contains("Two clients use one session token"))
            for client in [first, second] {
                #expect(try await client.events(1) == [#"pusher:gap {"reason":"shared_session"}"#])
            }
            for node in cluster.nodes {
                let third = try await StockWire(node, token)
                try third.client.send(subscribeMessage(to: "a", socketID: third.socketID))
                #expect(try await third.next().contains("Two clients use one session token"))
                #expect(try await third.next().contains(#"\"recovered\":false"#))
                #expect(try await third.events(1) == [#"pusher:gap {"reason":"shared_session"}"#])
            }
        }
    }

    @Test("The later one of two connections that wait for a session gets it", arguments: [1, 2])
    func superseded(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let token = token()
            let first = try await StockWire(cluster.nodes[0], token)
            let second = try await StockWire(cluster.nodes[0], token)
            #expect(try await second.subscribe(to: "a") == "{}")
            // It was opened ahead of the owner.
            #expect(try await first.subscribe(to: "a") == "{}")
            try await trigger(cluster.nodes[0], "1")
            try await second.confirm()
            try await first.cut(cluster.nodes[0])
            try await second.cut(cluster.nodes[0])
            let third = try await StockWire(cluster.nodes[1], token)
            #expect(try await third.subscribe(to: "a") == acknowledgement(replay: 0))
        }
    }

    @Test(
        "An owner that does not answer is taken over from its checkpoint",
        .timeLimit(.minutes(1))
    )
    func takesOver() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let token = token()
            let first = try await StockWire(here, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            try await trigger(here, "1")
            #expect(try await first.events(1) == ["1"])
            try await first.waitForPing()
            let before = try stored(cluster.redis)
            try await first.pong()
            try await eventually { try stored(cluster.redis) != before }
            try await relay.set(.stalled)
            try await trigger(there, "2")
            let second = try await StockWire(there, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement(replay: 1))
            #expect(try await second.events(1) == ["2"])
            // Nobody knows whether the first one has subscribed to it since.
            #expect(try await second.subscribe(to: "b") == acknowledgement(replay: nil))
            #expect(try await second.events(1) == [#"pusher:gap {"reason":"unknown_session"}"#])
            // The first one's node notices it with the next checkpoint.
            try await relay.set(.cut)
            try await relay.set(.open)
            #expect(try await first.events(1) == ["2"])
            try await first.confirm()
            try await answerUntilShared(first)
            #expect(try await second.next().contains("Two clients use one session token"))
        }
    }

    @Test("Claims and cursors wait for Redis")
    func waits() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let token = token()
            let first = try await StockWire(here, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            try await trigger(here, "1")
            try await first.confirm()
            try await relay.set(.cut)
            try await first.cut(here)
            try await trigger(there, "2")
            let second = try await StockWire(here, token)
            try second.client.send(subscribeMessage(to: "a", socketID: second.socketID))
            try await second.client.expectNothing()
            try await relay.set(.open)
            #expect(try await second.next().contains(#"\"recovered\":true,\"replay\":1"#))
            #expect(try await second.events(1) == ["2"])
        }
    }

    @Test("Without Redis for too long, clients that wait for their sessions reconnect elsewhere")
    func isolated() async throws {
        try await TestCluster.runRelayed {
            $0.cluster.closeAfter = 5
        } _: { cluster, relay in
            let first = try await StockWire(cluster.nodes[0], token())
            try await relay.set(.cut)
            try first.client.send(subscribeMessage(to: "a", socketID: first.socketID))
            #expect(try await first.next().contains("4200"))
        }
    }

    @Test("A session that Redis has lost is stored again by its owner", .timeLimit(.minutes(1)))
    func restores() async throws {
        try await TestCluster.run { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let token = token()
            let first = try await StockWire(here, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            try cluster.redis.command("FLUSHALL")
            #expect(try await first.events(1) == [#"pusher:gap {"reason":"unknown_stream"}"#])
            try await first.confirm()
            try await trigger(there, "1")
            #expect(try await first.events(1) == ["1"])
            try await first.confirm()
            // The digest of nothing.
            let none = "+da39a3ee5e6b4b0d3255bfef95601890afd80709"
            try await eventually { try stored(cluster.redis) != none }
            try await trigger(there, "2")
            try await first.cut(here)
            let second = try await StockWire(there, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement(replay: 1))
            // A token that the lost data may have had.
            let other = try await StockWire(there, StockWire.token())
            #expect(try await other.subscribe(to: "a") == acknowledgement(replay: nil))
            #expect(try await other.events(1) == [#"pusher:gap {"reason":"unknown_session"}"#])
        }
    }

    @Test("A node that stops leaves everything to the others")
    func stops() async throws {
        try await TestCluster.run { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tokens = (0..<8).map { _ in token() }
            for (index, token) in tokens.enumerated() {
                let client = try await StockWire(here, token)
                #expect(try await client.subscribe(to: "a\(index)") == "{}")
                try await trigger(here, "1", on: "a\(index)")
                try await client.confirm()
            }
            await here.server.stop()
            for (index, token) in tokens.enumerated() {
                let client = try await StockWire(there, token)
                let data = try await client.subscribe(to: "a\(index)")
                #expect(data == acknowledgement(replay: 0))
            }
        }
    }
}
