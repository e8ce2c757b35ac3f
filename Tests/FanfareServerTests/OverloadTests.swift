import BrokerConfiguration
import Net
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("More events than the subscribers can receive") struct OverloadTests {
    private static let data = String(repeating: "x", count: 10_000)

    private struct Reading {
        var numbers: [Int: [Int]] = [:]
        var isClosed = false
    }

    /// The events of one publisher, sent without waiting for answers.
    private func requests(of publisher: Int, count: Int) -> [UInt8] {
        (0..<count).reduce(into: []) { bytes, number in
            let body = #"""
                {"name":"e","channels":["news"],"data":"\#(publisher) \#(number) \#(Self.data)"}
                """#
            bytes += SignedRequest(path: "/apps/1/events", body: body).text.utf8
        }
    }

    /// Reads events until the last one, grouped by publisher.
    private func read(_ client: WebSocketWire) async throws -> Reading {
        var reading = Reading()
        while true {
            let frame = try await client.next()
            guard frame.opcode == 1, !frame.text.contains("pusher:error") else {
                reading.isClosed = true
                return reading
            }
            if frame.text.contains(#""event":"last""#) { return reading }
            let match = try #require(frame.text.firstMatch(of: /"data":"(\d+) (\d+)\s/))
            reading.numbers[Int(match.1) ?? -1, default: []].append(Int(match.2) ?? -1)
        }
    }

    @Test(
        "Publishers that pipeline are slowed down; readers stay connected and get all accepted events",
        arguments: [1, 2]
    )
    func pipeliningPublishers(loops: Int) async throws {
        let (publishers, count) = (8, 60)
        try await TestBroker.run(loops: loops) {
            // More than all events for one reader: a few that wait for a core longer than others need not be waited for. All
            // readers together must be.
            $0.streamLimits.queuedBytesMax = 6 << 20
            $0.queuedBytesTotalMax = 16 << 20
        } _: { broker in
            try await withThrowingTaskGroup(of: Reading.self) { group in
                for _ in 0..<12 {
                    group.addTask { try await read(try await broker.subscribed(to: "news").0) }
                }
                try await eventually {
                    try await broker.subscriptionCount(of: "news") == 12
                }
                let accepted = try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
                    for publisher in 0..<publishers {
                        group.addTask {
                            let wire = try Wire(port: broker.port)
                            try await wire.pour(requests(of: publisher, count: count))
                            var numbers: [Int] = []
                            for number in 0..<count where try await wire.answer().status == 200 {
                                numbers.append(number)
                            }
                            return (publisher, numbers)
                        }
                    }
                    return try await group.reduce(into: [Int: [Int]]()) { $0[$1.0] = $1.1 }
                }
                #expect(accepted.values.contains { !$0.isEmpty })
                _ = try await broker.trigger("last", "1", on: "news")
                for try await reading in group {
                    #expect(!reading.isClosed)
                    #expect(reading.numbers == accepted)
                }
            }
            #expect(await broker.hits(.queuedBytesTotal) == 0)
            try await eventually { await broker.metric("fanfare_inbound_bytes") == 0 }
        }
    }

    @Test("The backlog of a channel is bounded, and other channels are served")
    func otherChannels() async throws {
        try await TestBroker.run {
            $0.queuedBytesTotalMax = 8 << 20
        } _: { broker in
            // A subscriber that never reads, so that its channel's publishers have to wait.
            let (stalled, _) = try await broker.subscribed(to: "news")
            let (other, _) = try await broker.subscribed(to: "other")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for publisher in 0..<40 {
                    group.addTask {
                        try await Wire(port: broker.port).pour(
                            requests(of: publisher, count: 60),
                            patience: .milliseconds(500)
                        )
                    }
                }
                for number in 0..<50 {
                    let answer = try await broker.trigger("e", "\(number)", on: "other")
                    #expect(answer.status == 200)
                    let text = try await other.nextText()
                    #expect(text == eventText("e", "other", data: "\(number)"))
                    let inbound = try #require(await broker.metric("fanfare_inbound_bytes"))
                    // Plus one request of each publisher, and one fan-out.
                    #expect(inbound <= 2 << 20 + 41 * 11_000)
                }
                try await group.waitForAll()
            }
            _ = stalled
        }
    }
}

extension TestBroker {
    /// The number of subscriptions to a channel, from a query.
    fileprivate func subscriptionCount(of channel: String) async throws -> Int? {
        let request = SignedRequest(
            method: "GET",
            path: "/apps/1/channels/\(channel)",
            parameters: [("info", "subscription_count")]
        )
        let body = try await Wire(port: port).ask(request).body
        return body.firstMatch(of: /"subscription_count":(\d+)/).flatMap { Int($0.1) }
    }
}
