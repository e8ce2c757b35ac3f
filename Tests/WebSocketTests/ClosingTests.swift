import Testing

@testable import WebSocket

@Suite("Closing handshake, RFC 6455 §5.5.1 and §7") struct ClosingTests {
    @Test("A close frame ends the connection (Autobahn 7.1.1–7.1.5)")
    func nothingComesAfter() {
        expect(
            bytes("81 05 'Hello' 88 02 03E8"),
            areReceivedAs: [.text("Hello"), .close(.normal, "")]
        )
        expect(bytes("88 02 03E8 88 02 03E8"), areReceivedAs: [.close(.normal, "")])
        expect(bytes("88 02 03E8 89 00"), areReceivedAs: [.close(.normal, "")])
        expect(bytes("88 02 03E8 81 05 'Hello'"), areReceivedAs: [.close(.normal, "")])
        expect(bytes("88 02 03E8 FF FF FF"), areReceivedAs: [.close(.normal, "")])
        expect(
            bytes("01 09 'fragment1' 88 02 03E8 80 09 'fragment2'"),
            areReceivedAs: [.close(.normal, "")]
        )
    }

    @Test("A long message before the close frame is received (Autobahn 7.1.6)")
    func longMessageFirst() {
        let payload = [UInt8](repeating: 0x42, count: 256 << 10)
        let stream =
            FrameEncoder.frame(.text, payload: payload.span)
            + bytes("81 05 'Hello' 88 02 03E8 89 00")
        #expect(
            receive([masked(stream)], as: .server) == [
                .text(String(repeating: "B", count: 256 << 10)), .text("Hello"),
                .close(.normal, ""),
            ]
        )
    }

    @Test("Payloads of a close frame (Autobahn 7.3.1–7.3.6, 7.5.1)")
    func payloads() {
        let reason = String(repeating: "*", count: 123)
        expect(bytes("88 00"), areReceivedAs: [.close(nil, "")])
        expect(bytes("88 01 03"), areReceivedAs: [.failed(.truncatedCloseCode)])
        expect(bytes("88 02 03E8"), areReceivedAs: [.close(.normal, "")])
        expect(bytes("88 05 03E8 'bye'"), areReceivedAs: [.close(.normal, "bye")])
        expect(bytes("88 7D 03E8 '\(reason)'"), areReceivedAs: [.close(.normal, reason)])
        expect(
            bytes("88 7E 007E 03E8 '\(reason)*'"),
            areReceivedAs: [.failed(.controlFrameTooLong(.close))]
        )
        expect(
            bytes("88 0D 03E8 CEBAE1BDB9 EDA080 656469"),
            areReceivedAs: [.failed(.invalidCloseReason)]
        )
        expect(bytes("88 03 03E8 C3"), areReceivedAs: [.failed(.invalidCloseReason)])
    }

    @Test("Codes that may be sent, and all that may not (Autobahn 7.7, 7.9, 7.13)")
    func codes() {
        let valid = Set([1000, 1001, 1002, 1003] + Array(1007...1014) + Array(3000...4999))
        for number in 0...Int(UInt16.max) {
            let code = CloseCode(rawValue: UInt16(number))
            let frame = bytes("88 02") + [UInt8(number >> 8), UInt8(number & 0xFF)]
            let expected: [EndpointEvent] =
                valid.contains(number)
                ? [.close(code, "")] : [.failed(.invalidCloseCode(code.rawValue))]
            guard receive([frame], as: .client) != expected else { continue }
            #expect(receive([frame], as: .client) == expected, "code \(number)")
        }
        #expect(WebSocketError.invalidCloseCode(1005).closeCode == .protocolError)
    }

    @Test func theAnswerEchoesTheCode() {
        for (frame, answer) in [
            ("88 00", "88 00"), ("88 02 03E8", "88 02 03E8"), ("88 05 0FA0 'bye'", "88 02 0FA0"),
        ] {
            var receiver = Receiver(.server)
            #expect(receiver.endpoint.isClosing == false)
            receiver.feed(masked(bytes(frame)))
            #expect(receiver.endpoint.isCloseReceived && receiver.endpoint.isClosing)
            #expect(receiver.endpoint.isClosed == false)
            #expect(receiver.endpoint.answerClose() == bytes(answer))
            #expect(receiver.endpoint.isCloseSent && receiver.endpoint.isClosed)
            #expect(receiver.endpoint.answerClose() == nil)
        }
    }

    @Test func nothingIsSentAfterACloseFrame() {
        var endpoint = WebSocketEndpoint(role: .server)
        let hello = bytes("'Hello'")
        #expect(endpoint.close(.goingAway, reason: "bye") == bytes("88 05 03E9 'bye'"))
        #expect(endpoint.close(.normal) == nil)
        #expect(endpoint.encode(.text, hello.span) == nil)
        #expect(endpoint.ping(hello.span) == nil)
        #expect(endpoint.pong(hello.span) == nil)
        #expect(endpoint.isClosing && !endpoint.isClosed)
    }

    @Test("Messages under way are received until the peer's close frame (§7.1.2)")
    func closingFirst() {
        var receiver = Receiver(.client)
        #expect(receiver.endpoint.close(.normal, mask: 0) != nil)
        receiver.feed(bytes("81 05 'Hello' 88 02 03E8"))
        #expect(receiver.events == [.text("Hello"), .close(.normal, "")])
        #expect(receiver.endpoint.isClosed && receiver.endpoint.answerClose(mask: 0) == nil)
    }

    @Test func answeringNoCloseFrameTraps() async {
        await #expect(processExitsWith: .failure) {
            var endpoint = WebSocketEndpoint(role: .server)
            _ = endpoint.answerClose()
        }
    }
}
