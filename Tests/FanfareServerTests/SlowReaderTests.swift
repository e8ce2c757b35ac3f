import BrokerConfiguration
import Net
import Testing

@testable import FanfareServer

@Suite("A reader that is too slow") struct SlowReaderTests {
    @Test func isClosedWithACodeAndDisturbsNobody() async throws {
        try await TestBroker.run {
            $0.streamLimits.queuedBytesMax = 256 << 10
        } _: { broker in
            let (slow, _) = try await broker.connected()
            let (quick, _) = try await broker.connected()
            let channels = (0..<10).map { "chat-\($0)" }
            for channel in channels {
                for client in [slow, quick] { try await client.subscribe(to: channel) }
            }
            let data = String(repeating: "x", count: 10_000)
            let body = #"{"name":"e","channels":\#(channels),"data":"\#(data)"}"#
            let backend = try Wire(port: broker.port)
            let query = SignedRequest(
                method: "GET",
                path: "/apps/1/channels/chat-0",
                parameters: [("info", "subscription_count")]
            )
            // Until the socket's buffers and the queue are full.
            var count = 0
            while try await backend.ask(query).body.contains(#""subscription_count":2"#),
                count < 1_000
            {
                count += 1
                let answer = try await backend.ask(
                    SignedRequest(path: "/apps/1/events", body: body)
                )
                #expect(answer.status == 200)
                for _ in channels { #expect(try await quick.nextText().contains(data)) }
            }
            // The slow reader gets the first events, in order and complete, and then the reason.
            var received = 0
            var frame = try await slow.next()
            while frame.opcode == 1, frame.text.hasPrefix(#"{"event":"e""#) {
                #expect(frame.text.contains(data))
                received += 1
                frame = try await slow.next()
            }
            #expect(0 < received && received < count * channels.count)
            #expect(frame.text.hasPrefix(#"{"event":"pusher:error","data":{"code":4100"#))
            #expect(try await slow.next().closeCode == 4100)
            #expect(await broker.metric("fanfare_queues_dropped_total") == 1)
            #expect(try #require(await broker.metric("fanfare_queued_bytes_dropped_total")) > 0)
        }
    }
}
