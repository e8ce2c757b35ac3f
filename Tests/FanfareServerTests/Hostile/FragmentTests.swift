import BrokerConfiguration
import Testing
import WebSocket

@testable import FanfareServer

extension HostileTests {
    @Suite("Endless fragments, RFC 6455 §5.4") struct FragmentTests {
        private static let open = Frames.frame(1, Array("{".utf8), isFinal: false)
        private static let empty = Frames.frame(0, isFinal: false)

        private static let breaches: [HostileFrames] = [
            HostileFrames(
                "fragments of nothing, for ever",
                open + Frames.repeated(empty, 5_000),
                .close(1009, "more than 4096 fragments")
            ),
            HostileFrames(
                "fragments of one byte, for ever",
                open + Frames.repeated(Frames.frame(0, [0x20], isFinal: false), 1_100),
                .close(1009, "exceeds the limit of 1000 bytes")
            ),
            HostileFrames(
                "a last fragment that is announced too long",
                open + Frames.frame(0, announced: 1_000),
                .close(1009, "exceeds the limit of 1000 bytes")
            ),
            HostileFrames(
                "a fragment of 2^62 bytes",
                open + Frames.frame(0, announced: 1 << 62),
                .close(1009, "exceeds the limit of 1000 bytes")
            ),
            HostileFrames(
                "a message inside another",
                open + Frames.ping,
                .close(1002, "before the last one ended")
            ),
            HostileFrames(
                "the end of no message",
                Frames.frame(0, Array("}".utf8)),
                .close(1002, "without a message to continue")
            ),
            HostileFrames(
                "half a character at the end",
                open + Frames.frame(0, [0xE2, 0x82]),
                .close(1007, "not UTF-8")
            ),
            HostileFrames(
                "binary fragments",
                Frames.frame(2, [0], isFinal: false) + Frames.frame(0, [0]),
                .close(1003, "text frames")
            ),
            HostileFrames(
                "a compressed fragment without an agreement",
                Frames.frame(1, [0], isFinal: false, isCompressed: true),
                .close(1002, "reserved bits")
            ),
        ]

        private static let harmless: [HostileFrames] = [
            HostileFrames(
                "a character in four fragments, each with a ping behind it",
                Frames.frame(1, Array(#"{"event":""#.utf8), isFinal: false)
                    + [0xF0, 0x9F, 0x98, 0x80].flatMap { byte in
                        Frames.frame(0, [byte], isFinal: false) + Frames.frame(9, [byte])
                    } + Frames.frame(0, Array(#""}"#.utf8)),
                .pong([0xF0]),
                .pong([0x9F]),
                .pong([0x98]),
                .pong([0x80]),
                .error("Unsupported event received on socket: '😀'")
            ),
            HostileFrames(
                "a message of empty fragments",
                Frames.frame(1, isFinal: false) + Frames.repeated(empty, 4_000) + Frames.frame(0),
                .error("ends inside a value")
            ),
        ]

        @Test(arguments: breaches + harmless)
        func areBounded(_ frames: HostileFrames) async throws {
            try await frames.run { $0.webSocketLimits.messageLengthMax = 1_000 }
        }

        @Test(
            "Endless messages take their received size, and nothing after their senders are gone"
        )
        func unfinished() async throws {
            try await TestBroker.attacked(loops: 2) { broker in
                var clients: [WebSocketWire] = []
                let part = Frames.frame(1, [UInt8](repeating: 0x20, count: 60_000), isFinal: false)
                for number in 0..<40 {
                    let (client, _) = try await broker.connected()
                    try await client.wire.pour(part)
                    // Some announce more data, some end early, some end in the middle of a header.
                    switch number % 4 {
                    case 0: try await client.wire.pour(Frames.frame(0, [0x20], announced: 5_000))
                    case 1: client.wire.endSending()
                    case 2: try await client.wire.pour([0x00])
                    default: break
                    }
                    clients.append(client)
                }
                // Half-closed connections are closed; the others are still served.
                for (number, client) in clients.enumerated() where number % 4 != 1 {
                    if number % 4 == 3 {
                        try await client.wire.pour(Frames.frame(9, [7]))
                        #expect(try await client.next().payload == [7])
                    }
                }
                try await eventually { await broker.server.connectionCount == 31 }
                for client in clients { client.wire.reset() }
            }
        }
    }
}
