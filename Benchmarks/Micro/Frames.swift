import WebSocket

/// WebSocket frames: RFC 6455 §5.
enum Frames {
    static var subjects: [Subject] {
        [
            encode(64), encode(1024), decode(64), decode(1024), mask(1024),
        ]
    }

    /// With this key masked ASCII stays ASCII, so a frame can be decoded repeatedly,
    /// although each decoding unmasks it in place.
    private static let key: UInt32 = 0x1534_5667

    private static func payload(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    }

    private static func encode(_ count: Int) -> Subject {
        let payload = payload(count)
        return Subject(name: "encode-\(count)", operation: "a server's frame of \(count) bytes") {
            consume(FrameEncoder.frame(.text, payload: payload.span))
        }
    }

    private static func decode(_ count: Int) -> Subject {
        var frame = FrameEncoder.frame(.text, payload: payload(count).span, mask: key)
        return Subject(
            name: "decode-\(count)",
            operation: "a client's text frame of \(count) bytes: unmasked, UTF-8 checked"
        ) {
            var endpoint = WebSocketEndpoint(role: .server)
            var position = 0
            do {
                var bytes = frame.mutableSpan
                guard let incoming = try endpoint.next(in: &bytes, at: &position) else {
                    fail("the frame is incomplete")
                }
                consume(incoming.payloadLength)
            } catch {
                fail("\(error)")
            }
        }
    }

    private static func mask(_ count: Int) -> Subject {
        var bytes = payload(count)
        return Subject(name: "mask-\(count)", operation: "\(count) bytes") {
            var span = bytes.mutableSpan
            Mask.apply(key, to: &span, in: 0..<count)
        }
    }
}
