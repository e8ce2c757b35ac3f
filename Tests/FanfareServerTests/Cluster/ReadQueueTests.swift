import Broker
import BrokerConfiguration
import Net
import PusherProtocol
import RESP
import Redis
import TestRedis
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("Cluster: reads in their turn") struct ReadQueueTests {
    private struct NumberedCall: StoreCall {
        let number: Int

        func received(_ reply: borrowing RESPView, from store: ClusterStore) {}
    }

    /// Reads in a partition.
    private func reads(_ count: Int, in partition: Int = 0) -> ReadQueue {
        var reads = ReadQueue()
        for number in 0..<count {
            reads.append(
                ClusterRead(
                    partition: partition,
                    command: ["XRANGE", "s", "\(number)", "+"],
                    call: NumberedCall(number: number)
                )
            )
        }
        return reads
    }

    /// Sends as many as may be unanswered; returns their number.
    private func send(_ reads: inout ReadQueue) -> Int {
        var count = 0
        while reads.next != nil {
            reads.sentNext()
            count += 1
        }
        return count
    }

    @Test("The first is alone, and each answer permits one more, up to a number")
    func grows() {
        var reads = reads(2_000)
        var unanswered = send(&reads)
        #expect(unanswered == 1)
        var rounds: [Int] = []
        for _ in 0..<10 {
            for _ in 0..<unanswered { reads.answered(byteCount: 100) }
            unanswered = send(&reads)
            rounds.append(unanswered)
        }
        #expect(rounds == [2, 4, 8, 16, 32, 64, 128, 256, 256, 256])
    }

    @Test("Long answers leave room for few, until shorter ones have followed")
    func shrinks() {
        var reads = reads(100_000)
        var unanswered = send(&reads)
        func answer(_ byteCount: Int) {
            for _ in 0..<unanswered { reads.answered(byteCount: byteCount) }
            unanswered = send(&reads)
        }
        for _ in 0..<5 { answer(100) }
        #expect(unanswered == 32)
        answer(ReadQueue.bytesMax / 4)
        #expect(unanswered == 4)
        answer(ReadQueue.bytesMax * 2)
        #expect(unanswered == 1)
        for _ in 0..<200 { answer(100) }
        #expect(unanswered == 256)
    }

    @Test("With the connection all is forgotten, and what waited is given up in its order")
    func endsWithTheConnection() {
        var reads = reads(3, in: 7)
        #expect(send(&reads) == 1)
        #expect(reads.areWaiting(in: 7) && !reads.areWaiting(in: 0))
        let given = reads.removeAll().map { ($0 as? NumberedCall)?.number }
        #expect(given == [1, 2] && reads.next == nil && !reads.areWaiting(in: 7))
    }

    @Test("More was missed on many channels than Redis keeps for a connection")
    func moreThanRedisQueues() async throws {
        try await TestCluster.runRelayed(loops: 1) { configuration in
            configuration.apps[0].recovery.isEnabled = true
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            configuration.apps[0].recoveryRules = [rule]
            configuration.streamLimits.queuedBytesMax = 64 << 20
            configuration.cluster.closeAfter = 300
        } _: { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            try cluster.redis.command(
                "CONFIG",
                "SET",
                "client-output-buffer-limit",
                "pubsub 4mb 4mb 0"
            )
            let channels = (0..<120).map { "c-\($0)" }
            let (client, _) = try await here.connected()
            for channel in channels {
                try client.send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
            }
            for _ in channels {
                #expect(try await client.nextText().contains("subscription_succeeded"))
            }
            try await relay.set(.cut)
            let data = String(repeating: "x", count: 60_000)
            for names in [channels.prefix(60), channels.suffix(60)] {
                let list = names.map { "\"\($0)\"" }.joined(separator: ",")
                let body = #"{"name":"e","channels":[\#(list)],"data":"\#(data)"}"#
                let answer = try await Wire(port: there.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body))
                #expect(answer.status == 200)
            }
            try await relay.set(.open)
            var missing = Set(channels)
            while !missing.isEmpty {
                let text = try await client.nextText()
                let channel = try #require(channels.first { text.contains("\"\($0)\"") }, "\(text)")
                #expect(missing.remove(channel) != nil, "\(text.prefix(100))")
            }
        }
    }
}
