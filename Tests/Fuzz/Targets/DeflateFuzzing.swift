import WebSocket

/// Both sides of permessage-deflate: three bytes choose the options of both.
///
/// Messages follow, each a byte for its kind, a byte for its repetitions, and its bytes.
enum DeflateFuzzing {
    private static let limits = WebSocketLimits(messageLengthMax: 40_000)

    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let options = choices.byte()
        let agreement = try Agreement(
            server: wishes(options, choices.byte()),
            client: wishes(options >> 2, choices.byte())
        )
        let speaker: Role = options & 0x80 == 0 ? .server : .client
        let listener: Role = speaker == .server ? .client : .server
        let compression = agreement.of(speaker)
        var mouth = WebSocketEndpoint(role: speaker, limits: limits, compression: compression)
        var receiver = Receiver(listener, limits: limits, compression: agreement.of(listener))
        var sent: [ReceivedMessage] = []
        while !choices.isEmpty, sent.count < 64 {
            let kind: MessageKind = choices.bool() ? .text : .binary
            let message = message(&choices, kind)
            let mask: UInt32? = speaker == .client ? 0x1234_5678 : nil
            guard let frame = mouth.encode(kind, message.span, mask: mask) else {
                throw Finding(description: "nothing was sent on an open connection")
            }
            if speaker == .server { try checkShared(message, mouth, compression) }
            try receiver.feed(frame)
            guard message.count <= limits.messageLengthMax else {
                // A decompression bomb must be refused at the limit.
                let failure = ReceivedMessage.failed(
                    .messageTooLong(limit: limits.messageLengthMax)
                )
                sent.append(failure)
                break
            }
            sent.append(kind == .text ? .text(message) : .binary(message))
        }
        try expect(
            receiver.received == sent,
            "\(receiver.received.count) of \(sent.count) messages were received unchanged"
        )
    }

    private static func wishes(_ flags: UInt8, _ byte: UInt8) -> DeflateOptions {
        DeflateOptions(
            serverNoContextTakeover: flags & 1 != 0,
            clientNoContextTakeover: flags & 2 != 0,
            serverMaxWindowBits: 8 + Int(byte & 7),
            clientMaxWindowBits: 8 + Int(byte >> 3 & 7),
            compressionThreshold: byte & 0x40 == 0 ? 0 : 40,
            level: byte & 0x80 == 0 ? 1 : 9,
            memoryLevel: byte & 0x80 == 0 ? 1 : 8
        )
    }

    private static func message(_ choices: inout Choices, _ kind: MessageKind) -> [UInt8] {
        let times = 1 + Int(choices.byte())
        let piece = choices.bytes()
        let message = Array(repeatElement(piece, count: times).joined())
        guard kind == .text else { return message }
        return Array(String(decoding: message, as: UTF8.self).utf8)
    }

    /// Checks that an endpoint without earlier messages can read a frame compressed for many.
    private static func checkShared(
        _ message: [UInt8],
        _ mouth: borrowing WebSocketEndpoint,
        _ compression: NegotiatedDeflate
    ) throws(Finding) {
        guard let bits = mouth.sharedWindowBits, message.count <= limits.messageLengthMax,
            String(validating: message, as: UTF8.self) != nil
        else { return }
        let deflater = SharedDeflater(
            windowBits: bits,
            options: DeflateOptions(compressionThreshold: 0)
        )
        for _ in 0..<2 {
            guard let frame = deflater.textFrame(message.span) else { return }
            let received = try receive(
                [frame],
                as: .client,
                limits: limits,
                compression: compression
            )
            try expect(received == [.text(message)], "a shared frame has another content")
        }
    }
}
