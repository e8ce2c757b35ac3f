import BrokerConfiguration
import Net
import Testing

@testable import FanfareServer

@Suite("Control-frame floods, RFC 6455 §5.5", .serialized) struct ControlFrameTests {
    private static let close = Frames.frame(8, [0x03, 0xE8])

    private static let breaches: [HostileFrames] = [
        HostileFrames(
            "a ping of 126 bytes",
            Frames.frame(9, [UInt8](repeating: 0, count: 126)),
            .close(1002, "at most 125 bytes")
        ),
        HostileFrames(
            "a fragmented ping",
            Frames.frame(9, [1], isFinal: false),
            .close(1002, "must not be fragmented")
        ),
        HostileFrames(
            "a compressed ping",
            Frames.frame(9, [1], isCompressed: true),
            .close(1002, "reserved bits")
        ),
        HostileFrames("an unmasked ping", [0x89, 0x00], .close(1002, "must be masked")),
        HostileFrames("a reserved control frame", Frames.frame(11), .close(1002, "reserved")),
        HostileFrames("a close of one byte", Frames.frame(8, [3]), .close(1002, "single byte")),
        HostileFrames(
            "a reason that is not UTF-8",
            Frames.frame(8, [0x03, 0xE8, 0xC0, 0x80]),
            .close(1007, "not UTF-8")
        ),
        HostileFrames(
            "a reason that ends in half a character",
            Frames.frame(8, [0x03, 0xE8, 0xE2, 0x82]),
            .close(1007, "not UTF-8")
        ),
        HostileFrames("a close without a code", Frames.frame(8), .close(nil, "")),
        HostileFrames("two closes", close + close, .close(1000, "")),
        HostileFrames(
            "a close and a flood",
            close + Frames.repeated(Frames.ping, 500),
            .close(1000, "")
        ),
        HostileFrames(
            "a close in a message",
            Frames.frame(1, [0x7B], isFinal: false) + close,
            .close(1000, "")
        ),
    ]

    private static let codes: [HostileFrames] = [
        0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535,
    ]
    .map { code in
        HostileFrames(
            "a close with \(code)",
            Frames.frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)]),
            .close(1002, "close code \(code) must not be sent")
        )
    }

    @Test(arguments: breaches + codes)
    func areRefused(_ frames: HostileFrames) async throws {
        try await frames.run()
    }

    @Test("Each ping of a flood is answered, as long as the answers are read")
    func pings() async throws {
        try await TestBroker.attacked { broker in
            let (client, _) = try await broker.connected()
            for round in 0..<3 {
                var flood: [UInt8] = []
                for number in 0..<1_000 {
                    flood += Frames.frame(
                        9,
                        [UInt8(round), UInt8(number >> 8), UInt8(number & 0xFF)]
                    )
                }
                try await client.wire.pour(flood)
                for number in 0..<1_000 {
                    if number % 50 == 0 { await Task.yield() }
                    let pong = try await client.next()
                    let payload = [UInt8(round), UInt8(number >> 8), UInt8(number & 0xFF)]
                    #expect(pong == WebSocketWire.Frame(opcode: 10, payload: payload))
                }
            }
            try await client.expectNothing()
        }
    }

    @Test("Unsolicited pongs are ignored", arguments: [0, 1, 125])
    func pongs(length: Int) async throws {
        try await TestBroker.attacked { broker in
            let (client, _) = try await broker.connected()
            let pong = Frames.frame(10, [UInt8](repeating: 0xFF, count: length))
            try await client.wire.pour(Frames.repeated(pong, 20_000))
            try await client.expectNothing()
        }
    }

    @Test(
        "A client that does not read its answers is closed with 4100 when the queue is full",
        arguments: [
            Frames.frame(9, [UInt8](repeating: 1, count: 125)), Frames.frame(9), Frames.ping,
        ]
    )
    func unreadAnswers(question: [UInt8]) async throws {
        try await TestBroker.attacked {
            $0.streamLimits.queuedBytesMax = 32 << 10
        } by: { broker in
            let client = try await WebSocketWire(over: Wire(port: broker.port, keepsLittle: true))
            _ = try await client.socketID()
            // A closed client leaves its channels at once.
            try await client.subscribe(to: "flood")
            let flood = Frames.repeated(question, 100_000 / question.count)
            while try await broker.isOccupied("flood") { try await client.wire.pour(flood) }
            var frame = try await client.next()
            while frame.opcode == 10 || frame.text.contains("pusher:pong") {
                frame = try await client.next()
            }
            #expect(frame.text.contains(#""code":4100,"message":"The connection reads too slowly"#))
            #expect(try await client.next().closeCode == 4100)
        }
    }

    @Test("A peer that does not answer a close frame is disconnected")
    func lingering() async throws {
        try await TestBroker.attacked { broker in
            var clients: [WebSocketWire] = []
            for number in 0..<30 {
                let (client, _) = try await broker.connected()
                switch number % 3 {
                // The broker closes because of an error.
                case 0: try await client.wire.pour(Frames.frame(3))
                // The client closes, and sends further data.
                case 1: try await client.wire.pour(Self.close + Frames.repeated(Frames.ping, 100))
                // The client is gone, with a message in transit.
                default:
                    try await client.wire.pour(Frames.frame(1, [0x7B], announced: 100))
                    client.wire.reset()
                }
                clients.append(client)
            }
            try await eventually { await broker.server.connectionCount == 1 }
            for (number, client) in clients.enumerated() where number % 3 == 0 {
                #expect(try await client.next().closeCode == 1002)
            }
        }
    }
}
