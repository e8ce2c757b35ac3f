import Testing
import TestRandom

@testable import WebSocket

/// Makes agreed parameters, in one line.
func agreed(
    serverForgets: Bool = false,
    clientForgets: Bool = false,
    serverBits: Int = 15,
    clientBits: Int = 15,
    threshold: Int = 0,
    level: Int = 6,
    memoryLevel: Int = 8
) -> NegotiatedDeflate {
    NegotiatedDeflate(
        serverNoContextTakeover: serverForgets,
        clientNoContextTakeover: clientForgets,
        serverMaxWindowBits: serverBits,
        clientMaxWindowBits: clientBits,
        options: DeflateOptions(
            compressionThreshold: threshold,
            level: level,
            memoryLevel: memoryLevel
        )
    )
}

@Suite("Compressed messages, RFC 7692 §6 and §7.2") struct CompressionTests {
    private func expectDeflated(
        _ frames: String,
        areReceivedAs expected: [EndpointEvent],
        limits: WebSocketLimits = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expect(
            bytes(frames),
            areReceivedAs: expected,
            limits: limits,
            compression: { _ in agreed() },
            sourceLocation: sourceLocation
        )
    }

    @Test("The examples of §7.2.3.1–7.2.3.6")
    func examples() {
        let hello = EndpointEvent.text("Hello")
        expectDeflated("c1 07 f248cdc9c90700", areReceivedAs: [hello])
        expectDeflated("41 03 f248cd 80 04 c9c90700", areReceivedAs: [hello])
        expectDeflated("c1 07 f248cdc9c90700 c1 05 f200110000", areReceivedAs: [hello, hello])
        expectDeflated("c1 0b 000500faff 'Hello' 00", areReceivedAs: [hello])
        expectDeflated("c1 08 f348cdc9c9070000", areReceivedAs: [hello])
        expectDeflated("c1 0d f248050000 00ffff cac9c90700", areReceivedAs: [hello])
        expectDeflated("c1 01 00", areReceivedAs: [.text("")])
    }

    @Test("While a message is being inflated, zlib's memory counts as its own")
    func memory() {
        var receiver = Receiver(.server, compression: agreed(clientForgets: true))
        let frames = masked(bytes("41 03 f248cd 80 04 c9c90700"))
        receiver.feed(frames[..<8])
        let incomplete = receiver.endpoint.incompleteMessageSize
        #expect((32 << 10..<48 << 10).contains(incomplete))
        receiver.feed(frames[8...])
        let complete = receiver.endpoint.incompleteMessageSize
        #expect(complete == 0)
    }

    @Test func aFinalBlockKeepsTheWindow() {
        expectDeflated(
            "c1 08 f348cdc9c9070000 c1 05 f200110000",
            areReceivedAs: [.text("Hello"), .text("Hello")]
        )
    }

    @Test func plainMessagesComeBetweenCompressedOnes() {
        expectDeflated(
            "c1 07 f248cdc9c90700 81 05 'plain' c1 05 f200110000",
            areReceivedAs: [.text("Hello"), .text("plain"), .text("Hello")]
        )
    }

    @Test func controlFramesComeBetweenCompressedFragments() {
        expectDeflated(
            "41 03 f248cd 89 02 'hi' 80 04 c9c90700",
            areReceivedAs: [.ping(bytes("'hi'")), .text("Hello")]
        )
    }

    @Test func emptyFragmentsAndAMessageOfNoBytes() {
        expectDeflated("41 00 00 07 f248cdc9c90700 80 00", areReceivedAs: [.text("Hello")])
        // zlib's output for an empty message after another one, which senders remove completely.
        expectDeflated("c1 00 81 01 'a'", areReceivedAs: [.text(""), .text("a")])
    }

    @Test("RSV1 only on the first frame of a message (§6.1)")
    func misplacedMarker() {
        expectDeflated("41 03 f248cd c0 04 c9c90700", areReceivedAs: [.failed(.reservedBits(4))])
        expectDeflated("c9 00", areReceivedAs: [.failed(.reservedBits(4))])
        expectDeflated("c8 02 03e8", areReceivedAs: [.failed(.reservedBits(4))])
        expectDeflated("e1 01 00", areReceivedAs: [.failed(.reservedBits(6))])
        expect(bytes("c1 07 f248cdc9c90700"), areReceivedAs: [.failed(.reservedBits(4))])
    }

    @Test(
        "Data that do not inflate",
        arguments: [
            "c1 02 ffff",  // A block of the reserved type.
            "c1 06 f248cdc9c907",  // Cut inside a code.
            "c1 03 f248cd",
            "c2 07 000500faff 'He'",  // Cut inside a stored block.
            "c1 06 000500faef 'H'",  // A length that differs from its complement.
            "c1 05 f200110000",  // A distance further back than there is anything.
        ]
    )
    func corrupt(_ frame: String) {
        expectDeflated(frame, areReceivedAs: [.failed(.corruptCompression)])
    }

    @Test func aTextIsValidatedAfterInflating() {
        var deflater: Deflater { Deflater() }
        for (text, isValid) in [("C3A4", true), ("C328", false), ("'abc' C3", false)] {
            let payload = deflater.deflate(bytes(text).span)
            let frame = FrameEncoder.frame(.text, isCompressed: true, payload: payload.span)
            let events: EndpointEvent = isValid ? .text("ä") : .failed(.invalidText)
            expect(frame, areReceivedAs: [events], compression: { _ in agreed() })
        }
    }

    @Test func anInvalidByteFailsBeforeTheMessageIsComplete() {
        // Stored blocks are inflated byte by byte: the text is refused at its second byte.
        let events = receive(
            [bytes("41 07 000500faff C328 00 05 00")],
            as: .client,
            compression: agreed()
        )
        #expect(events == [.failed(.invalidText)])
    }

    @Test func aDecompressionBombIsStopped() {
        let zeros = [UInt8](repeating: 0, count: 4 << 20)
        let bomb = Deflater(level: 9).deflate(zeros.span)
        #expect(bomb.count < 5000)
        let frame = FrameEncoder.frame(.binary, isCompressed: true, payload: bomb.span)
        let limits = WebSocketLimits(messageLengthMax: 100_000)
        let failed = [EndpointEvent.failed(.messageTooLong(limit: 100_000))]
        #expect(receive([frame], as: .client, limits: limits, compression: agreed()) == failed)
        #expect(
            receive([Array(frame[..<400])], as: .client, limits: limits, compression: agreed())
                == failed
        )
        var output: [UInt8] = []
        let inflater = Inflater(windowBits: 15)
        let failure = inflater.inflate(bomb.span, into: &output, limit: 100_000)
        #expect(failure == .messageTooLong(limit: 100_000))
        #expect(output.count == 100_000)
    }

    @Test func aMessageAtTheLimitInflates() throws {
        let payload = [UInt8](repeating: 0x61, count: 70_000)
        let frame = FrameEncoder.frame(
            .binary,
            isCompressed: true,
            payload: Deflater().deflate(payload.span).span
        )
        for (limit, fits) in [(70_000, true), (69_999, false), (65_536, false), (16_384, false)] {
            let limits = WebSocketLimits(messageLengthMax: limit)
            let events = receive([frame], as: .client, limits: limits, compression: agreed())
            #expect(events == [fits ? .binary(payload) : .failed(.messageTooLong(limit: limit))])
        }
    }

    @Test func aCompressedLengthIsRefusedWhenItIsAnnounced() {
        let limits = WebSocketLimits(messageLengthMax: 1000)
        let events = receive(
            [bytes("c2 7e 04a6")],
            as: .client,
            limits: limits,
            compression: agreed()
        )
        #expect(events == [.failed(.messageTooLong(limit: 1000))])
        #expect(
            receive([bytes("c2 7e 04a5")], as: .client, limits: limits, compression: agreed())
                .isEmpty
        )
    }
}

@Suite("Compression both ways, RFC 7692 §7.1") struct CompressedConversationTests {
    /// Sends messages of growing length from one side to the other and back.
    private func converse(
        _ settings: NegotiatedDeflate,
        lengths: [Int],
        random: inout SeededRandom
    ) {
        var server = WebSocketEndpoint(role: .server, compression: settings)
        var client = WebSocketEndpoint(role: .client, compression: settings)
        var serverEar = Receiver(.server, compression: settings)
        var clientEar = Receiver(.client, compression: settings)
        var sent: [EndpointEvent] = []
        let words = (0..<50).map { "word\($0 * 7919) " }
        for length in lengths {
            var text = ""
            while text.utf8.count < length { text += words.randomElement(using: &random) ?? "" }
            text = String(text.prefix(length))
            let payload = Array(text.utf8)
            sent.append(.text(text))
            let mask = UInt32(truncatingIfNeeded: random.next())
            serverEar.feed(client.encode(.text, payload.span, mask: mask) ?? [])
            clientEar.feed(server.encode(.text, payload.span) ?? [])
        }
        #expect(serverEar.events == sent && clientEar.events == sent, "\(settings)")
    }

    @Test("Every window, with and without context takeover (Autobahn 12, 13)")
    func everyParameter() {
        var random = SeededRandom(seed: 6)
        let lengths = [
            0, 1, 16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131_072, 5, 0, 0, 5,
        ]
        for bits in 8...15 {
            for forgets in [false, true] {
                converse(
                    agreed(
                        serverForgets: forgets,
                        clientForgets: !forgets,
                        serverBits: bits,
                        clientBits: 23 - bits,
                        memoryLevel: bits == 15 ? 9 : 1
                    ),
                    lengths: lengths,
                    random: &random
                )
            }
        }
        for level in 1...9 {
            converse(agreed(level: level), lengths: [1000, 2000, 40000], random: &random)
        }
    }

    @Test("A window of 8 bits is respected, although zlib compresses with 9")
    func smallestWindow() {
        var random = SeededRandom(seed: 7)
        // Repeats at distances around 256: a longer reference could not be inflated.
        for distance in [200, 249, 250, 251, 255, 256, 257, 262, 300, 511, 512] {
            let block = random.bytes(distance)
            let message = Array([[UInt8]](repeating: block, count: 8).joined())
            for level in [1, 4, 9] {
                let deflater = Deflater(windowBits: 8, level: level)
                let inflater = Inflater(windowBits: 8)
                for _ in 0..<3 {
                    let compressed = deflater.deflate(message.span)
                    var output: [UInt8] = []
                    // Byte by byte, so that zlib can use only its window.
                    for byte in compressed {
                        let one = [byte]
                        #expect(inflater.inflate(one.span, into: &output, limit: .max) == nil)
                    }
                    #expect(inflater.finish(into: &output, limit: .max) == nil)
                    #expect(output == message, "distance \(distance), level \(level)")
                }
            }
        }
    }

    @Test func contextTakeoverMakesARepeatSmall() {
        var random = SeededRandom(seed: 8)
        let payload = random.bytes(2000)
        func lengths(_ settings: NegotiatedDeflate) -> [Int] {
            var server = WebSocketEndpoint(role: .server, compression: settings)
            return (0..<2).map { _ in server.encode(.binary, payload.span)?.count ?? 0 }
        }
        let remembering = lengths(agreed())
        #expect(remembering[0] > 2000 && remembering[1] < 100)
        // Without it a message that would grow is sent uncompressed.
        #expect(lengths(agreed(serverForgets: true)) == [2004, 2004])
    }

    @Test func shortMessagesAreSentUncompressed() {
        var server = WebSocketEndpoint(role: .server, compression: agreed(threshold: 10))
        let (nine, ten) = (bytes("'aaaaaaaaa'"), bytes("'aaaaaaaaaa'"))
        #expect(server.encode(.text, nine.span) == bytes("81 09 'aaaaaaaaa'"))
        #expect(server.encode(.text, ten.span)?.first == 0xC1)
        #expect(server.ping(ten.span)?.first == 0x89)
        var eager = WebSocketEndpoint(role: .server, compression: agreed())
        #expect(eager.encode(.text, [UInt8]().span) == bytes("81 00"))
    }

    @Test func anEventCompressedOnceIsValidForLargerWindows() {
        let event = Array(String(repeating: "the same event, ", count: 100).utf8)
        let deflater = Deflater(windowBits: 9, memoryLevel: 1)
        var frames: [UInt8] = []
        for _ in 0..<3 {
            deflater.reset()
            let payload = deflater.deflate(event.span)
            FrameEncoder.append(.text, isCompressed: true, payload: payload.span, to: &frames)
        }
        let text = EndpointEvent.text(String(decoding: event, as: UTF8.self))
        for settings in [agreed(serverBits: 9), agreed(serverForgets: true), agreed()] {
            #expect(receive([frames], as: .client, compression: settings) == [text, text, text])
        }
    }

    @Test func aDeflaterStartsOverAfterAResetOrRelease() {
        let hello = bytes("'Hello'")
        let deflater = Deflater()
        #expect(deflater.deflate(hello.span) == bytes("f248cdc9c90700"))
        #expect(deflater.deflate(hello.span) == bytes("f200110000"))
        deflater.reset()
        #expect(deflater.deflate(hello.span) == bytes("f248cdc9c90700"))
        deflater.release()
        #expect(deflater.deflate(hello.span) == bytes("f248cdc9c90700"))
        #expect(deflater.deflate([UInt8]().span) == [0])
    }
}
