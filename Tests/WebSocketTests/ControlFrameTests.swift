import Testing

@testable import WebSocket

@Suite("Control frames, RFC 6455 §5.5") struct ControlFrameTests {
    private static let full = (0..<125).map { UInt8($0 + 130 & 0xFF) }

    @Test("Pings (Autobahn 2.1–2.4, 2.6)")
    func pings() {
        expect(bytes("89 00"), isHeardAs: [.ping([])])
        expect(bytes("89 0D 'Hello, world!'"), isHeardAs: [.ping(bytes("'Hello, world!'"))])
        expect(bytes("89 06 00FFFEFDFC00"), isHeardAs: [.ping(bytes("00FFFEFDFC00"))])
        expect(bytes("89 7D") + Self.full, isHeardAs: [.ping(Self.full)])
    }

    @Test("A ping of 126 bytes is refused at its length (Autobahn 2.5)")
    func tooLong() {
        let frame = bytes("89 7E 007E") + [UInt8](repeating: 0xFE, count: 126)
        expect(frame, isHeardAs: [.failed(.controlFrameTooLong(.ping))])
        #expect(lengthRefused(frame) == 2)
    }

    @Test("Unasked pongs (Autobahn 2.7–2.9)")
    func pongs() {
        expect(bytes("8A 00"), isHeardAs: [.pong([])])
        expect(
            bytes("8A 04 'told' 89 03 'ask'"),
            isHeardAs: [.pong(bytes("'told'")), .ping(bytes("'ask'"))]
        )
    }

    @Test("Ten pings (Autobahn 2.10, 2.11)")
    func tenPings() {
        let pings = (0..<10).map { UInt8($0) }
        expect(
            pings.flatMap { bytes("89 02") + [0x70, $0] },
            isHeardAs: pings.map { .ping([0x70, $0]) }
        )
    }

    @Test("Reserved bits fail the connection where they stand (Autobahn 3.1–3.7)")
    func reservedBits() {
        let hello = bytes("81 05 'Hello'")
        expect(bytes("91 05 'Hello'"), isHeardAs: [.failed(.reservedBits(1))])
        expect(
            hello + bytes("A1 05 'Hello' 89 00"),
            isHeardAs: [.text("Hello"), .failed(.reservedBits(2))]
        )
        expect(
            hello + bytes("B1 05 'Hello' 89 00"),
            isHeardAs: [.text("Hello"), .failed(.reservedBits(3))]
        )
        expect(
            hello + bytes("C1 05 'Hello' 89 00"),
            isHeardAs: [.text("Hello"), .failed(.reservedBits(4))]
        )
        expect(bytes("D2 05 'Hello'"), isHeardAs: [.failed(.reservedBits(5))])
        expect(bytes("E9 05 'Hello'"), isHeardAs: [.failed(.reservedBits(6))])
        expect(bytes("F8 02 03E8"), isHeardAs: [.failed(.reservedBits(7))])
    }

    @Test(
        "Reserved opcodes (Autobahn 4.1, 4.2)",
        arguments: [UInt8(3), 4, 5, 6, 7, 11, 12, 13, 14, 15]
    )
    func reservedOpcodes(_ opcode: UInt8) {
        expect(
            bytes("81 05 'Hello'") + [0x80 | opcode, 0] + bytes("89 00"),
            isHeardAs: [.text("Hello"), .failed(.reservedOpcode(opcode))]
        )
        expect(
            [0x80 | opcode, 0x05] + bytes("'Hello'"),
            isHeardAs: [.failed(.reservedOpcode(opcode))]
        )
        #expect(lengthRefused([0x80 | opcode, 0]) == 1)
    }

    @Test("A control frame is never in fragments (Autobahn 5.1, 5.2)")
    func fragmented() {
        expect(
            bytes("09 05 'frag1' 80 05 'frag2'"),
            isHeardAs: [.failed(.fragmentedControlFrame(.ping))]
        )
        expect(
            bytes("0A 05 'frag1' 80 05 'frag2'"),
            isHeardAs: [.failed(.fragmentedControlFrame(.pong))]
        )
    }

    @Test func anIncompleteControlFrameStaysUnreadAndUnchanged() {
        var ear = Ear(.server)
        let stream = masked(bytes("81 02 'ab' 89 05 'Hello'"))
        ear.feed(stream.dropLast())
        #expect(ear.heard == [.text("ab")])
        #expect(ear.unread == Array(stream[8...].dropLast()))
        ear.feed(stream.suffix(1))
        #expect(ear.heard == [.text("ab"), .ping(bytes("'Hello'"))])
    }

    @Test func afterAFailureEverythingIsIgnored() {
        var ear = Ear(.client)
        ear.feed(bytes("83 00 81 05 'Hello'"))
        ear.feed(bytes("81 05 'Hello' 89"))
        #expect(ear.heard == [.failed(.reservedOpcode(3))])
        #expect(ear.unread.isEmpty && ear.endpoint.hasFailed && !ear.endpoint.isClosed)
        #expect(
            ear.endpoint.close(WebSocketError.reservedOpcode(3).closeCode, mask: 0)
                == bytes("88 82 00000000 03EA")
        )
        #expect(ear.endpoint.isClosed == true)
    }
}
