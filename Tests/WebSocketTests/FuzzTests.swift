import Testing
import TestRandom

@testable import WebSocket

/// Random bytes and corrupted conversations: nothing traps, and the result does not depend on how the bytes are split.
@Suite("Fuzzing") struct FuzzTests {
    private func pieces(_ stream: [UInt8], _ random: inout SeededRandom) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var start = 0
        while start < stream.count {
            let end = min(stream.count, start + Int.random(in: 1...20, using: &random))
            pieces.append(Array(stream[start..<end]))
            start = end
        }
        return pieces
    }

    private func check(_ stream: [UInt8], seed: UInt64, _ random: inout SeededRandom) {
        let limits = WebSocketLimits(messageLengthMax: 2000, fragmentCountMax: 20)
        for role in [Role.client, .server] {
            for compression in [nil, agreed(serverForgets: seed % 2 == 0, clientBits: 9)] {
                let whole = receive([stream], as: role, limits: limits, compression: compression)
                let cut = receive(
                    pieces(stream, &random),
                    as: role,
                    limits: limits,
                    compression: compression
                )
                guard whole != cut else { continue }
                #expect(whole == cut, "seed \(seed), \(role), \(stream)")
            }
        }
    }

    @Test func randomBytes() {
        for seed in UInt64(0)..<1500 {
            var random = SeededRandom(seed: seed)
            let length = Int.random(in: 0...60, using: &random)
            check(random.bytes(length), seed: seed, &random)
        }
    }

    @Test func conversationsWithAFewBytesChanged() {
        let opcodes: [Opcode] = [.continuation, .text, .text, .binary, .close, .ping, .pong]
        for seed in UInt64(0)..<1500 {
            var random = SeededRandom(seed: seed)
            let deflater = Deflater(windowBits: 9, memoryLevel: 1)
            var stream: [UInt8] = []
            let isMasked = Bool.random(using: &random)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let opcode = opcodes.randomElement(using: &random) ?? .text
                let isCompressed =
                    (opcode == .text || opcode == .binary) && Bool.random(using: &random)
                var payload = (0..<Int.random(in: 0...130, using: &random)).map { _ in
                    UInt8.random(in: 0x20...0x7E, using: &random)
                }
                if opcode == .close { payload = [0x03, 0xE8] + payload }
                if opcode.isControl { payload = Array(payload.prefix(125)) }
                if isCompressed { payload = deflater.deflate(payload.span) }
                FrameEncoder.append(
                    opcode,
                    isFinal: opcode.isControl || Int.random(in: 0...3, using: &random) > 0,
                    isCompressed: isCompressed,
                    payload: payload.span,
                    mask: isMasked ? UInt32(truncatingIfNeeded: random.next()) : nil,
                    to: &stream
                )
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<stream.count, using: &random)
                stream[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            check(stream, seed: seed, &random)
        }
    }

    @Test func randomCompressedPayloads() {
        for seed in UInt64(0)..<1500 {
            var random = SeededRandom(seed: seed)
            let payload = random.bytes(Int.random(in: 0...80, using: &random))
            var stream: [UInt8] = []
            let mask: UInt32? = Bool.random(using: &random) ? 0x0102_0304 : nil
            FrameEncoder.append(
                .binary,
                isCompressed: true,
                payload: payload.span,
                mask: mask,
                to: &stream
            )
            check(stream, seed: seed, &random)
        }
    }

    @Test func randomHandshakeFields() {
        let alphabet = Array("permessage-deflate;,= \"\\_139xX\t")
        for seed in UInt64(0)..<3000 {
            var random = SeededRandom(seed: seed)
            let text = String(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    alphabet.randomElement(using: &random) ?? "x"
                }
            )
            guard let elements = ExtensionElement.parse([text]) else { continue }
            // Parsed elements are the same after encoding and parsing them again.
            let written = elements.map { element in
                element.parameters.reduce(element.name) {
                    $0 + ";" + $1.name + ($1.value.map { "=\"\($0)\"" } ?? "")
                }
            }
            #expect(ExtensionElement.parse(written) == elements, "seed \(seed)")
        }
    }
}
