import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("The order of events for a publisher") struct PublishOrderTests {
    /// The number in an event's data.
    private func number(of text: String) -> Int? {
        text.firstMatch(of: /"data":"(\d+)/).flatMap { Int($0.1) }
    }

    @Test(
        "An event triggered after the answer to another comes later, on any loop",
        arguments: [(loops: 2, kept: 0), (2, 8), (3, 5)]
    )
    func afterTheAnswer(loops: Int, kept: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, _) = try await broker.connected()
            for channel in ["one", "two", "three"] { try await client.subscribe(to: channel) }
            let connections = try (0..<kept).map { _ in try Wire(port: broker.port) }
            let count = 600
            for number in 0..<count {
                let connection =
                    kept == 0 ? try Wire(port: broker.port) : connections[number % kept]
                let body = #"{"name":"e","channels":["one"],"data":"\#(number)"}"#
                let answer = try await connection.ask(
                    SignedRequest(path: "/apps/1/events", body: body)
                )
                #expect(answer.status == 200)
            }
            var numbers: [Int] = []
            for _ in 0..<count { numbers.append(number(of: try await client.nextText()) ?? -1) }
            #expect(numbers == Array(0..<count))
        }
    }

    @Test("The same holds for batches, several channels, and client events behind a trigger")
    func batchesAndClientEvents() async throws {
        try await TestBroker.run(loops: 3) {
            $0.apps[0].limits.clientEventRate = Rate(perSecond: 10_000)
        } _: { broker in
            let (client, _) = try await broker.connected()
            for channel in ["one", "two"] { try await client.subscribe(to: channel) }
            let (sender, _) = try await broker.subscribed(to: "private-three")
            let (reader, _) = try await broker.subscribed(to: "private-three")
            for round in 0..<200 {
                let batch = #"""
                    {"batch":[{"name":"e","channel":"one","data":"\#(2 * round)"},\#
                    {"name":"e","channel":"two","data":"\#(2 * round)"}]}
                    """#
                var answer = try await Wire(port: broker.port).ask(
                    SignedRequest(path: "/apps/1/batch_events", body: batch)
                )
                #expect(answer.status == 200)
                let channels = #"["two","one","private-three"]"#
                let single = #"{"name":"e","channels":\#(channels),"data":"\#(2 * round + 1)"}"#
                answer = try await Wire(port: broker.port).ask(
                    SignedRequest(path: "/apps/1/events", body: single)
                )
                #expect(answer.status == 200)
                try sender.publish("client-e", "private-three", json: "\"\(2 * round + 2)\"")
                // The client event is sequenced when the reader has it: the next trigger comes later.
                #expect(number(of: try await reader.nextText()) == 2 * round + 1)
                #expect(number(of: try await reader.nextText()) == 2 * round + 2)
            }
            var numbers: [String: [Int]] = [:]
            for _ in 0..<800 {
                let text = try await client.nextText()
                let channel = try #require(text.firstMatch(of: /"channel":"(\w+)"/))
                numbers[String(channel.1), default: []].append(number(of: text) ?? -1)
            }
            #expect(numbers["one"] == Array(0..<400))
            #expect(numbers["two"] == Array(0..<400))
        }
    }
}
