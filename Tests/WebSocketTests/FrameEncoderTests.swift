import Testing

@testable import WebSocket

@Suite("Writing frames, RFC 6455 §5.2") struct FrameEncoderTests {
    @Test func theExamplesOfSection5_7() {
        let hello = bytes("'Hello'")
        #expect(FrameEncoder.frame(.text, payload: hello.span) == bytes("81 05 'Hello'"))
        #expect(
            FrameEncoder.frame(.text, payload: hello.span, mask: 0x37FA_213D)
                == bytes("81 85 37fa213d 7f9f4d5158")
        )
        var fragments: [UInt8] = []
        FrameEncoder.append(
            .text,
            isFinal: false,
            payload: hello.span.extracting(0..<3),
            to: &fragments
        )
        FrameEncoder.append(.continuation, payload: hello.span.extracting(3...), to: &fragments)
        #expect(fragments == bytes("01 03 'Hel' 80 02 'lo'"))
        #expect(FrameEncoder.frame(.ping, payload: hello.span) == bytes("89 05 'Hello'"))
        #expect(
            FrameEncoder.frame(.pong, payload: hello.span, mask: 0x37FA_213D)
                == bytes("8a 85 37fa213d 7f9f4d5158")
        )
    }

    @Test(arguments: [
        (0, "82 00"), (125, "82 7D"), (126, "82 7E 007E"), (127, "82 7E 007F"),
        (65535, "82 7E FFFF"), (65536, "82 7F 0000000000010000"),
    ])
    func writesTheShortestLength(_ length: Int, header: String) {
        let payload = [UInt8](repeating: 0xFE, count: length)
        let frame = FrameEncoder.frame(.binary, payload: payload.span)
        #expect(frame == bytes(header) + payload)
        var appended = bytes("00 01")
        let place = FrameEncoder.append(.binary, to: &appended) { $0 += payload }
        #expect(appended == bytes("00 01") + frame)
        #expect(place == appended.count - length..<appended.count)
        let plain = FrameEncoder.headerLength(payloadLength: length, isMasked: false)
        let masking = FrameEncoder.headerLength(payloadLength: length, isMasked: true)
        #expect(plain == bytes(header).count && masking == plain + 4)
        let masked = FrameEncoder.frame(.binary, payload: payload.span, mask: 0xFEFE_FEFE)
        #expect(masked.count == frame.count + 4)
        #expect(masked.suffix(length).allSatisfy { $0 == 0 })
        let written = FrameEncoder.frame(.binary, payloadLength: length) { $0 += payload }
        #expect(written == frame)
    }

    @Test func anEncodedFrameIsOneAllocation() {
        let payload = [UInt8](repeating: 0x61, count: 4000)
        var capacities: [Int] = []
        let frame = FrameEncoder.frame(.text, payloadLength: payload.count) { bytes in
            capacities.append(bytes.capacity)
            bytes += payload
            capacities.append(bytes.capacity)
        }
        #expect(capacities[0] == capacities[1] && capacities[0] >= frame.count)
    }

    @Test func markersOfFragmentsAndCompression() {
        var header: [UInt8] = []
        FrameEncoder.appendHeader(
            .text,
            isFinal: false,
            isCompressed: true,
            payloadLength: 300,
            mask: 0x0102_0304,
            to: &header
        )
        #expect(header == bytes("41 FE 012C 01020304"))
    }

    @Test func closeFrames() {
        #expect(FrameEncoder.close(nil) == bytes("88 00"))
        #expect(FrameEncoder.close(nil, reason: "without a code") == bytes("88 00"))
        #expect(FrameEncoder.close(.normal) == bytes("88 02 03E8"))
        #expect(FrameEncoder.close(.normal, reason: "bye") == bytes("88 05 03E8 'bye'"))
        #expect(
            FrameEncoder.close(.goingAway, mask: 0xFFFF_FFFF) == bytes("88 82 FFFFFFFF FC16")
        )
    }

    @Test func aReasonIsTruncatedAtTheBoundaryOfAScalar() {
        let long = FrameEncoder.close(.normal, reason: String(repeating: "a", count: 200))
        #expect(long == bytes("88 7D 03E8") + [UInt8](repeating: 0x61, count: 123))
        // 41 signs of three bytes fill 123 bytes exactly; after one letter only 40 fit.
        let euros = FrameEncoder.close(.normal, reason: String(repeating: "€", count: 50))
        #expect(euros.count == 2 + 2 + 123)
        let shifted = FrameEncoder.close(.normal, reason: "a" + String(repeating: "€", count: 50))
        #expect(shifted.count == 2 + 2 + 121)
    }

    @Test func invalidFramesTrap() async {
        await #expect(processExitsWith: .failure) {
            _ = FrameEncoder.close(CloseCode(rawValue: 1005))
        }
        await #expect(processExitsWith: .failure) {
            let payload = [UInt8](repeating: 0, count: 126)
            _ = FrameEncoder.frame(.ping, payload: payload.span)
        }
        await #expect(processExitsWith: .failure) {
            _ = FrameEncoder.frame(.text, payloadLength: 3) { $0.append(1) }
        }
    }
}
