import BrokerConfiguration
import HTTPServer
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limit of received, unprocessed data") struct InboundLimitTests {
    /// A trigger of 300,000 bytes, most of them in an unknown member.
    private static let trigger = SignedRequest(
        path: "/apps/1/events",
        body: #"{"name":"e","channel":"news","data":"1","x":""#
            + String(repeating: "x", count: 300_000) + #""}"#
    )

    /// Sends all of the trigger but its last 100,000 bytes.
    private func begin(_ broker: TestBroker) async throws -> (wire: Wire, rest: String) {
        let wire = try Wire(port: broker.port)
        let text = Self.trigger.text
        try await wire.pour(Array(text.utf8.dropLast(100_000)))
        return (wire, String(text.suffix(100_000)))
    }

    private func inboundBytes(_ broker: TestBroker) async -> Int {
        await broker.metric("fanfare_inbound_bytes") ?? -1
    }

    @Test("Partial bodies: 503 above the limit, without effect on others")
    func requestBodies() async throws {
        try await TestBroker.run {
            // A quarter of it is for received data.
            $0.queuedBytesTotalMax = 800_000
            $0.httpTimeouts.body = .seconds(600)
        } _: { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            let (holder, rest) = try await begin(broker)
            try await eventually { await inboundBytes(broker) >= 200_000 }
            #expect(await broker.hits(.inboundBytes) == 0)
            let late = try await begin(broker)
            let answer = try await late.wire.answer()
            #expect(answer.status == 503)
            #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
            #expect(await broker.hits(.inboundBytes) == 1)
            // Complete requests and messages are served meanwhile.
            let query = try await broker.query("/apps/1/channels/news")
            #expect(query.body == #"{"occupied":true}"#)
            try await client.subscribe(to: "sport")
            // The first one is served, and its memory is free again.
            try await holder.pour(Array(rest.utf8))
            #expect(try await holder.answer().status == 200)
            #expect(try await client.nextText() == eventText("e", "news", data: "1"))
            try await eventually { await inboundBytes(broker) == 0 }
            let next = try await begin(broker)
            try await next.wire.pour(Array(next.rest.utf8))
            #expect(try await next.wire.answer().status == 200)
        }
    }

    @Test("An abandoned body is no longer counted", arguments: [true, false])
    func bodiesGivenUp(byReset: Bool) async throws {
        try await TestBroker.run(loops: 2) {
            // So that no timeout ends a request, however busy the machine is.
            $0.httpTimeouts.body = .seconds(600)
        } _: { broker in
            var holders: [Wire] = []
            for _ in 0..<8 { holders.append(try await begin(broker).wire) }
            try await eventually { await inboundBytes(broker) >= 8 * 200_000 }
            for holder in holders { if byReset { holder.reset() } else { holder.endSending() } }
            try await eventually { await inboundBytes(broker) == 0 }
        }
    }
}
