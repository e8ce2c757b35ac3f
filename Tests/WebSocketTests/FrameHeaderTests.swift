import Testing

@testable import WebSocket

@Suite("Frame headers, RFC 6455 §5.2") struct FrameHeaderTests {
    private func parse(
        _ literal: String,
        _ role: Role = .client,
        deflate: Bool = false
    ) throws(WebSocketError) -> FrameHeader? {
        let header = bytes(literal)
        return try FrameHeader.parse(header.span, at: 0, role: role, allowsCompression: deflate)
    }

    @Test(arguments: [
        ("82 00", 0), ("82 7D", 125), ("82 7E 007E", 126), ("82 7E 00FF", 255),
        ("82 7E FFFF", 65535), ("82 7F 0000000000010000", 65536),
        ("82 7F 7FFFFFFFFFFFFFFF", Int.max),
    ])
    func readsTheLength(_ literal: String, length: Int) throws {
        let header = try parse(literal)
        #expect(header?.payloadLength == length)
        #expect(header?.length == bytes(literal).count)
        #expect(header?.mask == nil)
    }

    @Test func readsTheMaskAfterEachLength() throws {
        for length in ["80", "FE 007E", "FF 0000000000010000"] {
            let header = try parse("82 \(length) 01020304", .server)
            #expect(header?.mask == 0x0102_0304)
            #expect(header?.length == bytes(length).count + 5)
        }
    }

    @Test func needsMoreAtEverySplit() throws {
        for (literal, role) in [
            ("82 7F 0000000000010000", Role.client), ("82 7E 0100", .client), ("82 00", .client),
            ("82 FF 0000000000010000 01020304", .server), ("82 FE 0100 01020304", .server),
        ] {
            let header = bytes(literal)
            for end in 0..<header.count {
                let span = header.span.extracting(0..<end)
                let result = try FrameHeader.parse(
                    span,
                    at: 0,
                    role: role,
                    allowsCompression: false
                )
                #expect(result == nil, "\(literal) cut at \(end)")
            }
        }
    }

    @Test(arguments: [
        ("83", Role.client, WebSocketError.reservedOpcode(3)), ("87", .server, .reservedOpcode(7)),
        ("8B", .client, .reservedOpcode(11)), ("8F", .server, .reservedOpcode(15)),
        ("C1", .client, .reservedBits(4)), ("A1", .client, .reservedBits(2)),
        ("91", .client, .reservedBits(1)), ("F9", .server, .reservedBits(7)),
        ("09", .client, .fragmentedControlFrame(.ping)),
        ("0A", .server, .fragmentedControlFrame(.pong)),
        ("08", .client, .fragmentedControlFrame(.close)),
        ("81 05", .server, .unmaskedFrame), ("81 85", .client, .maskedFrame),
        ("89 7E", .client, .controlFrameTooLong(.ping)),
        ("88 FF", .server, .controlFrameTooLong(.close)),
        ("81 7E 007D", .client, .lengthNotMinimal), ("81 FE 0000", .server, .lengthNotMinimal),
        ("81 7F 000000000000FFFF", .client, .lengthNotMinimal),
        ("81 FF 0000000000000000", .server, .lengthNotMinimal),
        ("81 7F 80", .client, .lengthOver63Bits), ("81 FF FF", .server, .lengthOver63Bits),
    ])
    func refusesAtOnce(_ literal: String, role: Role, error: WebSocketError) {
        #expect(throws: error) { try parse(literal, role) }
        // One byte less, and there is no error yet.
        let shorter = Array(bytes(literal).dropLast())
        #expect(throws: Never.self) {
            let header = try FrameHeader.parse(
                shorter.span,
                at: 0,
                role: role,
                allowsCompression: false
            )
            #expect(header == nil)
        }
    }

    @Test func allFirstBytesWithAndWithoutDeflate() {
        for first in UInt8.min...UInt8.max {
            for deflate in [false, true] {
                let (opcode, bits) = (first & 0xF, first >> 4 & 7)
                let isData = opcode == 1 || opcode == 2
                let isAllowed =
                    ([0, 1, 2].contains(opcode) || ([8, 9, 10].contains(opcode) && first >= 0x80))
                    && (bits == 0 || (deflate && bits == 4 && isData))
                let header = [first, 0]
                let parsed = try? FrameHeader.parse(
                    header.span,
                    at: 0,
                    role: .client,
                    allowsCompression: deflate
                )
                #expect((parsed != nil) == isAllowed, "first byte \(first), deflate \(deflate)")
            }
        }
    }
}
