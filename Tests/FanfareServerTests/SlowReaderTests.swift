import Testing

@testable import FanfareServer

@Suite("A reader that is too slow") struct SlowReaderTests {
    @Test func isClosedWithACodeAndDisturbsNobody() async throws {
        try await TestBroker.run { $0.queuedBytesMax = 65_536 } _: { broker in
            let (slow, _) = try await broker.connected()
            let (quick, _) = try await broker.connected()
            for client in [slow, quick] { try await client.subscribe(to: "chat") }
            let data = String(repeating: "x", count: 10_000)
            let body = #"{"name":"e","channel":"chat","data":"\#(data)"}"#
            let backend = try Wire(port: broker.port)
            // More than the kernel takes for a socket that nobody reads, and more than the queue's limit.
            let count = 1_500
            for _ in 0..<count {
                #expect(
                    try await backend.ask(SignedRequest(path: "/apps/1/events", body: body)).status
                        == 200)
                #expect(try await quick.nextText().contains(data))
            }
            // The slow one gets a part of the events, in order and whole, and then learns why there are no more.
            var received = 0
            var frame = try await slow.next()
            while frame.opcode == 1, frame.text.hasPrefix(#"{"event":"e""#) {
                #expect(frame.text.contains(data))
                received += 1
                frame = try await slow.next()
            }
            #expect(received < count)
            #expect(frame.text.hasPrefix(#"{"event":"pusher:error","data":{"code":4100"#))
            #expect(try await slow.next().closeCode == 4100)
        }
    }
}
