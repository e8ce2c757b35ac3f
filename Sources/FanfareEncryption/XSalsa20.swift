import Primitives

/// The stream cipher XSalsa20: Salsa20 with a key derived by HSalsa20, so that a nonce has 24 bytes.
///
/// Written from D. J. Bernstein's "Salsa20 specification" (2005) and "Extending the Salsa20 nonce" (2011). It only adds,
/// rotates and XORs words: neither a branch nor an address depends on the key or the text.
struct XSalsa20 {
    /// The words before the rounds of the first block.
    private let first: Block

    /// Creates the stream of a key and a nonce.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: 24 bytes, the first 16 for HSalsa20.
    init(key: [UInt8], nonce: [UInt8]) {
        precondition(key.count == 32 && nonce.count == 24, "XSalsa20 has other lengths")
        let key = Self.words(key)
        let nonce = Self.words(nonce)
        var derived = Block(key, nonce[0], nonce[1], nonce[2], nonce[3])
        derived.mix()
        first = Block(derived.key, nonce[4], nonce[5], 0, 0)
    }

    /// XORs the stream into the bytes, from its beginning.
    func apply(to bytes: inout [UInt8]) {
        var block = first
        for offset in stride(from: 0, to: bytes.count, by: 64) {
            var stream = block
            stream.mix()
            stream.add(block)
            var span = bytes.mutableSpan
            stream.apply(to: &span, at: offset)
            block.next()
        }
    }

    private static func words(_ bytes: [UInt8]) -> [UInt32] {
        stride(from: 0, to: bytes.count, by: 4).map {
            bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: $0, as: UInt32.self).littleEndian
        }
    }
}

/// The matrix of Salsa20, row by row.
///
/// It is without vectors, whose shifts compile to one instruction for each lane.
private struct Block {
    private var x0, x1, x2, x3: UInt32
    private var x4, x5, x6, x7: UInt32
    private var x8, x9, x10, x11: UInt32
    private var x12, x13, x14, x15: UInt32

    /// The matrix of a key and four words: nonce and block number, or HSalsa20's input.
    init(_ key: [UInt32], _ n0: UInt32, _ n1: UInt32, _ n2: UInt32, _ n3: UInt32) {
        // "expand 32-byte k".
        (x0, x5, x10, x15) = (0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574)
        (x1, x2, x3, x4) = (key[0], key[1], key[2], key[3])
        (x6, x7, x8, x9) = (n0, n1, n2, n3)
        (x11, x12, x13, x14) = (key[4], key[5], key[6], key[7])
    }

    /// HSalsa20's result, after the rounds.
    var key: [UInt32] { [x0, x5, x10, x15, x6, x7, x8, x9] }

    /// Salsa20's 20 rounds, without the final addition.
    mutating func mix() {
        for _ in 0..<10 {
            Self.quarterRound(&x0, &x4, &x8, &x12)
            Self.quarterRound(&x5, &x9, &x13, &x1)
            Self.quarterRound(&x10, &x14, &x2, &x6)
            Self.quarterRound(&x15, &x3, &x7, &x11)
            Self.quarterRound(&x0, &x1, &x2, &x3)
            Self.quarterRound(&x5, &x6, &x7, &x4)
            Self.quarterRound(&x10, &x11, &x8, &x9)
            Self.quarterRound(&x15, &x12, &x13, &x14)
        }
    }

    mutating func add(_ other: Block) {
        x0 &+= other.x0
        x1 &+= other.x1
        x2 &+= other.x2
        x3 &+= other.x3
        x4 &+= other.x4
        x5 &+= other.x5
        x6 &+= other.x6
        x7 &+= other.x7
        x8 &+= other.x8
        x9 &+= other.x9
        x10 &+= other.x10
        x11 &+= other.x11
        x12 &+= other.x12
        x13 &+= other.x13
        x14 &+= other.x14
        x15 &+= other.x15
    }

    /// Increments the block's number, 64 bits.
    mutating func next() {
        x8 &+= 1
        if x8 == 0 { x9 &+= 1 }
    }

    /// XORs the words into up to 64 bytes.
    func apply(to bytes: inout MutableSpan<UInt8>, at offset: Int) {
        let words = SIMD16<UInt32>(
            x0,
            x1,
            x2,
            x3,
            x4,
            x5,
            x6,
            x7,
            x8,
            x9,
            x10,
            x11,
            x12,
            x13,
            x14,
            x15
        )
        for index in 0..<min(16, (bytes.count - offset) / 4) {
            var raw = bytes.mutableBytes
            let offset = offset + index * 4
            let text = raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
            raw.storeBytes(
                of: text ^ words[index].littleEndian,
                toByteOffset: offset,
                as: UInt32.self
            )
        }
        guard bytes.count - offset < 64 else { return }
        for index in bytes.count & ~3..<bytes.count {
            let word = words[(index - offset) / 4]
            bytes[index] ^= UInt8(truncatingIfNeeded: word >> UInt32(index % 4 * 8))
        }
    }

    @inline(__always) private static func quarterRound(
        _ a: inout UInt32,
        _ b: inout UInt32,
        _ c: inout UInt32,
        _ d: inout UInt32
    ) {
        b ^= rotated(a &+ d, by: 7)
        c ^= rotated(b &+ a, by: 9)
        d ^= rotated(c &+ b, by: 13)
        a ^= rotated(d &+ c, by: 18)
    }

    @inline(__always) private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
        word &<< count | word &>> (32 - count)
    }
}
