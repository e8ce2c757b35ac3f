import Broker
import BrokerConfiguration
import Net
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of the queues of slow readers") struct QueueLimitTests {
    private let channels = (0..<10).map { "chat-\($0)" }
    private let data = String(repeating: "x", count: 50_000)

    /// Queues events for a client that does not read, beside one that does and misses none, until `isEnough`.
    private func pile(
        _ broker: TestBroker,
        until isEnough: () async throws -> Bool
    ) async throws -> (slow: WebSocketWire, quick: WebSocketWire) {
        let (slow, _) = try await broker.connected()
        let (quick, _) = try await broker.connected()
        for channel in channels {
            for client in [slow, quick] { try await client.subscribe(to: channel) }
        }
        let backend = try Wire(port: broker.port)
        let body = #"{"name":"e","channels":\#(channels),"data":"\#(data)"}"#
        for _ in 0..<1_000 where try await !isEnough() {
            let request = SignedRequest(path: "/apps/1/events", body: body)
            let answer = try await backend.ask(request)
            #expect(answer.status == 200)
            for _ in channels { #expect(try await quick.nextText().contains(data)) }
        }
        #expect(try await isEnough())
        return (slow, quick)
    }

    /// Reads the events sent before, and then the reason of the close.
    ///
    /// A machine too busy to read it within the close timeout proves nothing.
    private func expectEnd(of slow: WebSocketWire) async throws {
        let start = ContinuousClock.now
        do {
            var frame = try await slow.next()
            while frame.text.hasPrefix(#"{"event":"e""#) { frame = try await slow.next() }
            #expect(frame.text.contains(#""code":4100"#))
            #expect(try await slow.next().closeCode == 4100)
        } catch Wire.Failure.ended where ContinuousClock.now - start > .seconds(3) {
        } catch Wire.Failure.system where ContinuousClock.now - start > .seconds(3) {}
    }

    @Test func bytesOfOneConnection() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.texts.dataLengthMax = 50_000
            $0.streamLimits.queuedBytesMax = 1 << 20
        } _: { broker in
            let (slow, quick) = try await pile(broker) { await broker.hits(.queuedBytes) > 0 }
            try await expectEnd(of: slow)
            try await quick.subscribe(to: "news")
            #expect(await broker.hits(.queuedBytes) == 1)
            try await eventually { await broker.metric("fanfare_queued_bytes") == 0 }
        }
    }

    @Test(
        "Of all connections or an app: new ones are refused, then the longest queue is closed",
        arguments: [Limit.queuedBytesTotal, .appQueuedBytes]
    )
    func bytesOfAll(limit: Limit) async throws {
        // Events that are stored together are queued together, for both clients: a part of this.
        let max = 8 << 20
        try await TestBroker.run {
            $0.apps[0].limits.texts.dataLengthMax = 50_000
            if limit == .queuedBytesTotal { $0.queuedBytesTotalMax = max }
            if limit == .appQueuedBytes { $0.apps[0].limits.queuedBytesMax = max }
        } _: { broker in
            let (slow, quick) = try await pile(broker) {
                // A quarter of the total is reserved for received data.
                let readersMax = limit == .queuedBytesTotal ? max / 4 * 3 : max
                return try #require(await broker.metric("fanfare_queued_bytes"))
                    > readersMax / 4 * 3
            }
            #expect(await broker.hits(limit) == 0)
            try await broker.expectRefusal(4100)
            #expect(await broker.hits(limit) == 1)
            // Connected clients are served, and the queue grows.
            let (backend, body) = (
                try Wire(port: broker.port),
                #"{"name":"e","channels":\#(channels),"data":"\#(data)"}"#
            )
            for _ in 0..<100 where await broker.hits(limit) == 1 {
                _ = try await backend.ask(SignedRequest(path: "/apps/1/events", body: body))
                for _ in channels { #expect(try await quick.nextText().contains(data)) }
            }
            try await expectEnd(of: slow)
            #expect(await broker.hits(limit) == 2)
            try await eventually { await broker.metric("fanfare_queued_bytes") == 0 }
            #expect(try await broker.admitted() != nil)
            try await quick.subscribe(to: "news")
        }
    }
}
