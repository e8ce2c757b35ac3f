import Testing

@testable import WebSocket

@Suite("Control frames, RFC 6455 §5.5") struct ControlFrameTests {
    private static let full = (0..<125).map { UInt8($0 + 130 & 0xFF) }

    @Test("Pings (Autobahn 2.1–2.4, 2.6)")
    func pings() {
        expect(bytes("89 00"), areReceivedAs: [.ping([])])
        expect(bytes("89 0D 'Hello, world!'"), areReceivedAs: [.ping(bytes("'Hello, world!'"))])
        expect(bytes("89 06 00FFFEFDFC00"), areReceivedAs: [.ping(bytes("00FFFEFDFC00"))])
        expect(bytes("89 7D") + Self.full, areReceivedAs: [.ping(Self.full)])
    }

    @Test("A ping of 126 bytes is refused at its length (Autobahn 2.5)")
    func tooLong() {
        let frame = bytes("89 7E 007E") + [UInt8](repeating: 0xFE, count: 126)
        expect(frame, areReceivedAs: [.failed(.controlFrameTooLong(.ping))])
        #expect(lengthRefused(frame) == 2)
    }

    @Test("Unsolicited pongs (Autobahn 2.7–2.9)")
    func pongs() {
        expect(bytes("8A 00"), areReceivedAs: [.pong([])])
        expect(
            bytes("8A 04 'told' 89 03 'ask'"),
            areReceivedAs: [.pong(bytes("'told'")), .ping(bytes("'ask'"))]
        )
    }

    @Test("Ten pings (Autobahn 2.10, 2.11)")
    func tenPings() {
        let pings = (0..<10).map { UInt8($0) }
        expect(
            pings.flatMap { bytes("89 02") + [0x70, $0] },
            areReceivedAs: pings.map { .ping([0x70, $0]) }
        )
    }

    @Test("Reserved bits fail the connection at their frame (Autobahn 3.1–3.7)")
    func reservedBits() {
        let hello = bytes("81 05 'Hello'")
        expect(bytes("91 05 'Hello'"), areReceivedAs: [.failed(.reservedBits(1))])
        expect(
            hello + bytes("A1 05 'Hello' 89 00"),
            areReceivedAs: [.text("Hello"), .failed(.reservedBits(2))]
        )
        expect(
            hello + bytes("B1 05 'Hello' 89 00"),
            areReceivedAs: [.text("Hello"), .failed(.reservedBits(3))]
        )
        expect(
            hello + bytes("C1 05 'Hello' 89 00"),
            areReceivedAs: [.text("Hello"), .failed(.reservedBits(4))]
        )
        expect(bytes("D2 05 'Hello'"), areReceivedAs: [.failed(.reservedBits(5))])
        expect(bytes("E9 05 'Hello'"), areReceivedAs: [.failed(.reservedBits(6))])
        expect(bytes("F8 02 03E8"), areReceivedAs: [.failed(.reservedBits(7))])
    }

    @Test(
        "Reserved opcodes (Autobahn 4.1, 4.2)",
        arguments: [UInt8(3), 4, 5, 6, 7, 11, 12, 13, 14, 15]
    )
    func reservedOpcodes(_ opcode: UInt8) {
        expect(
            bytes("81 05 'Hello'") + [0x80 | opcode, 0] + bytes("89 00"),
            areReceivedAs: [.text("Hello"), .failed(.reservedOpcode(opcode))]
        )
        expect(
            [0x80 | opcode, 0x05] + bytes("'Hello'"),
            areReceivedAs: [.failed(.reservedOpcode(opcode))]
        )
        #expect(lengthRefused([0x80 | opcode, 0]) == 1)
    }

    @Test("A control frame is never fragmented (Autobahn 5.1, 5.2)")
    func fragmented() {
        expect(
            bytes("09 05 'frag1' 80 05 'frag2'"),
            areReceivedAs: [.failed(.fragmentedControlFrame(.ping))]
        )
        expect(
            bytes("0A 05 'frag1' 80 05 'frag2'"),
            areReceivedAs: [.failed(.fragmentedControlFrame(.pong))]
        )
    }

    @Test func anIncompleteControlFrameStaysUnreadAndUnchanged() {
        var receiver = Receiver(.server)
        let stream = masked(bytes("81 02 'ab' 89 05 'Hello'"))
        receiver.feed(stream.dropLast())
        #expect(receiver.events == [.text("ab")])
        #expect(receiver.unread == Array(stream[8...].dropLast()))
        receiver.feed(stream.suffix(1))
        #expect(receiver.events == [.text("ab"), .ping(bytes("'Hello'"))])
    }

    @Test func afterAFailureEverythingIsIgnored() {
        var receiver = Receiver(.client)
        receiver.feed(bytes("83 00 81 05 'Hello'"))
        receiver.feed(bytes("81 05 'Hello' 89"))
        #expect(receiver.events == [.failed(.reservedOpcode(3))])
        #expect(
            receiver.unread.isEmpty && receiver.endpoint.hasFailed && !receiver.endpoint.isClosed
        )
        #expect(
            receiver.endpoint.close(WebSocketError.reservedOpcode(3).closeCode, mask: 0)
                == bytes("88 82 00000000 03EA")
        )
        #expect(receiver.endpoint.isClosed == true)
    }
}
