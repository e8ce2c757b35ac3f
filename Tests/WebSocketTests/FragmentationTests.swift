import Testing

@testable import WebSocket

@Suite("Fragmentation, RFC 6455 §5.4") struct FragmentationTests {
    @Test("Two fragments (Autobahn 5.3–5.5)")
    func two() {
        expect(
            bytes("01 09 'fragment1' 80 09 'fragment2'"),
            areReceivedAs: [.text("fragment1fragment2")]
        )
        expect(bytes("02 02 FFFE 80 01 FD"), areReceivedAs: [.binary([0xFF, 0xFE, 0xFD])])
    }

    @Test("An incomplete message reports its memory, and frees it")
    func memory() {
        var receiver = Receiver(.server)
        let frames = masked(bytes("01 7E 2710") + [UInt8](repeating: 0x61, count: 10_000))
        var sizes: [Int] = []
        for piece in [frames[..<4], frames[4..<8], frames[8..<5_008], frames[5_008...]] {
            receiver.feed(piece)
            sizes.append(receiver.endpoint.incompleteMessageSize)
        }
        #expect(sizes[0] == 0)
        #expect((1..<1_000).contains(sizes[1]))
        #expect((5_000..<11_000).contains(sizes[2]))
        #expect((10_000..<21_000).contains(sizes[3]))
        receiver.feed(masked(bytes("80 00")))
        let (completeSize, eventCount) = (
            receiver.endpoint.incompleteMessageSize, receiver.events.count
        )
        #expect(completeSize == 0 && eventCount == 1)

        receiver.feed(frames[..<5_008])
        receiver.endpoint.discardIncompleteMessage()
        let isLeft = receiver.endpoint.hasIncompleteMessage
        let size = receiver.endpoint.incompleteMessageSize
        #expect(!isLeft && size == 0)
    }

    @Test("Control frames come between fragments (Autobahn 5.6–5.8, 5.19, 5.20)")
    func controlBetween() {
        expect(
            bytes("01 09 'fragment1' 89 04 'ping' 80 09 'fragment2'"),
            areReceivedAs: [.ping(bytes("'ping'")), .text("fragment1fragment2")]
        )
        expect(
            bytes("01 01 'a' 00 01 'b' 89 01 '1' 00 01 'c' 00 01 'd' 89 01 '2' 80 01 'e'"),
            areReceivedAs: [.ping([0x31]), .ping([0x32]), .text("abcde")]
        )
    }

    @Test("A continuation of nothing (Autobahn 5.9–5.14)")
    func nothingToContinue() {
        for first in ["80", "00"] {
            let stream = bytes("\(first) 18 'non-continuation payload' 81 05 'Hello'")
            expect(stream, areReceivedAs: [.failed(.unexpectedContinuation)])
        }
    }

    @Test("A continuation after the last fragment (Autobahn 5.15–5.17)")
    func continuationAfterTheEnd() {
        expect(
            bytes("01 01 'a' 80 01 'b' 00 01 'c' 81 01 'd'"),
            areReceivedAs: [.text("ab"), .failed(.unexpectedContinuation)]
        )
        expect(
            bytes("81 01 'a' 80 01 'b'"),
            areReceivedAs: [.text("a"), .failed(.unexpectedContinuation)]
        )
    }

    @Test("A second message inside the first (Autobahn 5.18)")
    func interrupted() {
        expect(bytes("01 01 'a' 81 01 'b'"), areReceivedAs: [.failed(.interruptedMessage)])
        expect(bytes("02 01 'a' 01 01 'b'"), areReceivedAs: [.failed(.interruptedMessage)])
        expect(bytes("01 00 82 00"), areReceivedAs: [.failed(.interruptedMessage)])
    }

    @Test("Empty fragments (Autobahn 6.1)")
    func empty() {
        expect(bytes("81 00"), areReceivedAs: [.text("")])
        expect(bytes("01 00 00 00 80 00"), areReceivedAs: [.text("")])
        expect(bytes("01 00 00 06 'middle' 80 00"), areReceivedAs: [.text("middle")])
        expect(bytes("02 00 80 00"), areReceivedAs: [.binary([])])
    }

    @Test("A message in fragments of each size (Autobahn 9.3, 9.4, 10.1)")
    func manyFragments() {
        let payload = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for size in [1, 2, 64, 256, 1000, 1300, 2999, 3000] {
            var frames: [UInt8] = []
            for start in stride(from: 0, to: payload.count, by: size) {
                let end = min(start + size, payload.count)
                FrameEncoder.append(
                    start == 0 ? .binary : .continuation,
                    isFinal: end == payload.count,
                    payload: payload.span.extracting(start..<end),
                    to: &frames
                )
            }
            #expect(receive([frames], as: .client) == [.binary(payload)], "fragments of \(size)")
            #expect(receive([masked(frames)], as: .server) == [.binary(payload)])
        }
    }
}

@Suite("Limits") struct LimitTests {
    private let ten = WebSocketLimits(messageLengthMax: 10, fragmentCountMax: 3)
    private let tooLong = EndpointEvent.failed(.messageTooLong(limit: 10))

    @Test func aMessageAtTheLimitIsReceived() {
        expect(bytes("81 0A '0123456789'"), areReceivedAs: [.text("0123456789")], limits: ten)
        expect(
            bytes("01 05 '01234' 00 05 '56789' 80 00"),
            areReceivedAs: [.text("0123456789")],
            limits: ten
        )
    }

    @Test func aMessageOverTheLimitIsRefused() {
        expect(bytes("81 0B '0123456789A'"), areReceivedAs: [tooLong], limits: ten)
        expect(bytes("01 05 '01234' 00 06 '56789A' 80 00"), areReceivedAs: [tooLong], limits: ten)
        expect(
            bytes("82 01 00 82 7F 7FFFFFFFFFFFFFFF 00"),
            areReceivedAs: [.binary([0]), tooLong],
            limits: ten
        )
    }

    @Test func aLengthIsRefusedWhenItIsAnnounced() {
        #expect(receive([bytes("82 7E 4000")], as: .client, limits: ten) == [tooLong])
        #expect(receive([masked(bytes("82 7E 4000"))], as: .server, limits: ten) == [tooLong])
        #expect(
            receive([bytes("02 05 0000000000 00 06")], as: .client, limits: ten) == [tooLong]
        )
        #expect(
            receive([bytes("82 7F 7FFFFFFFFFFFFFFF")], as: .client)
                == [.failed(.messageTooLong(limit: 16 << 20))]
        )
    }

    @Test func tooManyFragments() {
        expect(bytes("01 01 'a' 00 01 'b' 80 01 'c'"), areReceivedAs: [.text("abc")], limits: ten)
        expect(
            bytes("01 01 'a' 00 01 'b' 00 01 'c' 80 01 'd'"),
            areReceivedAs: [.failed(.tooManyFragments(limit: 3))],
            limits: ten
        )
        expect(
            bytes("01 00 00 00 00 00 00 00"),
            areReceivedAs: [.failed(.tooManyFragments(limit: 3))],
            limits: ten
        )
    }

    @Test func controlFramesAreNotLimitedByMessages() {
        let none = WebSocketLimits(messageLengthMax: 0)
        expect(
            bytes("89 03 'abc' 81 00"),
            areReceivedAs: [.ping(bytes("'abc'")), .text("")],
            limits: none
        )
        expect(
            bytes("81 01 'a'"),
            areReceivedAs: [.failed(.messageTooLong(limit: 0))],
            limits: none
        )
    }

    @Test func everyErrorHasACodeThatMayBeSentAndASentenceThatFits() {
        let errors: [WebSocketError] = [
            .reservedBits(5), .reservedOpcode(3), .unmaskedFrame, .maskedFrame, .lengthNotMinimal,
            .lengthOver63Bits, .fragmentedControlFrame(.ping), .controlFrameTooLong(.close),
            .unexpectedContinuation, .interruptedMessage, .messageTooLong(limit: .max),
            .tooManyFragments(limit: .max), .invalidText, .truncatedCloseCode,
            .invalidCloseCode(65535), .invalidCloseReason, .corruptCompression,
        ]
        for error in errors {
            #expect(error.closeCode.isValidOnWire)
            #expect(error.description.utf8.count <= 123)
        }
        #expect(WebSocketError.messageTooLong(limit: 1).closeCode == .messageTooBig)
        #expect(WebSocketError.invalidText.closeCode == .invalidPayload)
        #expect(WebSocketError.maskedFrame.closeCode == .protocolError)
        #expect(
            WebSocketError.reservedBits(1).description
                == "reserved bits 0b001 are set in a frame's header"
        )
    }
}
