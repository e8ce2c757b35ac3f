import Testing

@testable import FanfareServer
@testable import WebSocket

@Suite("Events compressed once for many, RFC 7692") struct SharedCompressionTests {
    private let long = String(repeating: "the same words again, ", count: 100)

    /// Connects with an offer of compression, and subscribes.
    private func subscriber(
        _ broker: TestBroker,
        offering offer: String?
    ) async throws -> WebSocketWire {
        let fields = offer.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? ""
        let client = try await WebSocketWire(port: broker.port, fields: fields)
        #expect(client.responseHead.contains("permessage-deflate") == (offer != nil))
        _ = try await client.socketID()
        try await client.subscribe(to: "chat")
        return client
    }

    private func inflated(_ frame: WebSocketWire.Frame, windowBits: Int) throws -> String {
        let inflater = Inflater(windowBits: windowBits)
        var text: [UInt8] = []
        let payload = frame.payload
        try #require(inflater.inflate(payload.span, into: &text, limit: 1 << 20) == nil)
        try #require(inflater.finish(into: &text, limit: 1 << 20) == nil)
        return String(decoding: text, as: UTF8.self)
    }

    @Test("Each subscriber gets the encoding that it agreed to", arguments: [1, 2])
    func everyEncoding(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let plain = try await subscriber(broker, offering: nil)
            let bits = [15, 15, 15, 10, 10, 9]
            var compressed: [WebSocketWire] = []
            for bits in bits {
                let offer = "permessage-deflate; server_max_window_bits=\(bits)"
                compressed.append(try await subscriber(broker, offering: offer))
            }
            for round in 0..<3 {
                let expected = #"{"event":"e","channel":"chat","data":"\#(round) \#(long)"}"#
                _ = try await broker.trigger("e", "\(round) \(long)", on: "chat")
                #expect(try await plain.nextText() == expected)
                for (client, bits) in zip(compressed, bits) {
                    let frame = try await client.next()
                    #expect(frame.isCompressed && frame.payload.count < expected.utf8.count / 4)
                    // A fresh window each time: no reference to an earlier message.
                    #expect(try inflated(frame, windowBits: bits) == expected)
                }
            }
        }
    }

    @Test func shortEventsAreSentAsTheyAre() async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker, offering: "permessage-deflate")
            _ = try await broker.trigger("e", "short", on: "chat")
            #expect(
                try await client.nextText() == #"{"event":"e","channel":"chat","data":"short"}"#
            )
            _ = try await broker.trigger("e", long, on: "chat")
            #expect(try await client.next().isCompressed)
        }
    }

    @Test func subscribersOfEitherKindComeAndGo() async throws {
        try await TestBroker.run { broker in
            let first = try await subscriber(broker, offering: "permessage-deflate")
            try first.send(#"{"event":"pusher:unsubscribe","data":{"channel":"chat"}}"#)
            try first.send(#"{"event":"pusher:ping"}"#)
            #expect(try await first.nextText() == #"{"event":"pusher:pong","data":{}}"#)
            let plain = try await subscriber(broker, offering: nil)
            try await first.subscribe(to: "chat")
            _ = try await broker.trigger("e", long, on: "chat")
            #expect(try await first.next().isCompressed)
            #expect(try await plain.nextText().contains("the same words"))
        }
    }
}
