import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("Compressed bombs, RFC 7692 §7.2.2") struct CompressedBombTests {
        private static let offer = "permessage-deflate; client_max_window_bits"

        private static func zeros(_ length: Int) -> [UInt8] {
            Frames.deflated([UInt8](repeating: 0x20, count: length))
        }

        /// 16 MiB in 16 KiB.
        private static let bomb = zeros(16 << 20)

        private static func frame(_ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
            Frames.frame(1, payload, isFinal: isFinal, isCompressed: true)
        }

        private static let refused: [HostileFrames] = [
            HostileFrames("16 MiB in 16 KiB", frame(bomb), .close(1009, "limit of 262144 bytes")),
            HostileFrames(
                "one byte too many",
                frame(zeros(262_145)),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "16 MiB in fragments",
                frame(Array(bomb.prefix(100)), isFinal: false)
                    + Frames.frame(0, Array(bomb.dropFirst(100))),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "more compressed bytes than any message of its length has",
                frame([], isFinal: false) + Frames.frame(0, announced: 320_000),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "empty blocks, for ever",
                frame(Frames.repeated([0, 0, 0, 0xFF, 0xFF], 56_000), isFinal: false)
                    + Frames.frame(0, Frames.repeated([0, 0, 0, 0xFF, 0xFF], 4_000)),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "fragments of nothing, for ever",
                frame([0], isFinal: false)
                    + Frames.repeated(Frames.frame(0, isFinal: false), 5_000),
                .close(1009, "more than 4096 fragments")
            ),
            HostileFrames(
                "no deflate at all",
                frame([0xFF, 0xFF, 0xFF]),
                .close(1007, "does not inflate")
            ),
            HostileFrames(
                "a block that breaks off",
                frame([0x4A]),
                .close(1007, "does not inflate")
            ),
            HostileFrames(
                "a reference to what was never sent",
                frame([0x62, 0x00, 0x11, 0x00]),
                .close(1007, "")
            ),
            HostileFrames(
                "text that is not UTF-8 once it is inflated",
                frame(Frames.deflated([0xFF])),
                .close(1007, "not UTF-8")
            ),
            HostileFrames(
                "a bomb of what is not UTF-8",
                frame(Frames.deflated([UInt8](repeating: 0xFF, count: 1 << 20))),
                .close(1007, "not UTF-8")
            ),
            HostileFrames(
                "binary",
                Frames.frame(2, zeros(10), isCompressed: true),
                .close(1003, "text frames")
            ),
        ]

        private static let answered: [HostileFrames] = [
            HostileFrames("262,144 spaces", frame(zeros(262_144)), .error("ends inside a value")),
            HostileFrames("nothing", frame([]), .error("ends inside a value")),
            HostileFrames(
                "a final block inside a message",
                frame([0x03, 0x00, 0x00]),
                .error("ends inside a value")
            ),
            HostileFrames(
                "deep JSON",
                frame(Frames.deflated([UInt8](repeating: UInt8(ascii: "["), count: 262_144))),
                .error("unexpected '[' at byte 0")
            ),
        ]

        @Test(arguments: refused + answered)
        func areDefused(_ frames: HostileFrames) async throws {
            try await frames.run(offering: Self.offer)
        }

        @Test("One bomb after the other, each on its own connection")
        func repeatedly() async throws {
            try await TestBroker.attacked(loops: 2) { broker in
                for _ in 0..<30 {
                    let client = try await WebSocketWire(
                        port: broker.port,
                        fields: "Sec-WebSocket-Extensions: \(Self.offer)\r\n"
                    )
                    _ = try await client.socketID()
                    try await client.wire.pour(Self.frame(Self.bomb))
                    #expect(try await client.next().closeCode == 1009)
                }
            }
        }

        @Test("Messages that expand a thousandfold are all answered, with others in between")
        func withinTheLimit() async throws {
            try await TestBroker.attacked { broker in
                let client = try await WebSocketWire(
                    port: broker.port,
                    fields: "Sec-WebSocket-Extensions: \(Self.offer)\r\n"
                )
                _ = try await client.socketID()
                let (other, _) = try await broker.connected()
                let spaces = [UInt8](repeating: 0x20, count: 65_000)
                let message = Self.frame(
                    Frames.deflated(Array(#"{"event":"pusher:ping"}"#.utf8) + spaces)
                )
                // All of it fits into one read.
                let flood = Frames.repeated(message, 500)
                #expect(flood.count < 65_536)
                try await client.wire.pour(flood)
                // If it were processed in one turn, the other client would wait for all of it, and be answered only
                // once or twice.
                let pong = #"{"event":"pusher:pong","data":{}}"#
                var answerCount = 0
                try await eventually {
                    try await other.expectNothing()
                    answerCount += 1
                    return client.wire.receivedCount >= 500 * (pong.utf8.count + 2)
                }
                #expect(answerCount > 2)
                for _ in 0..<500 { #expect(try await client.nextText() == pong) }
                try await client.expectNothing()
            }
        }
    }
}
