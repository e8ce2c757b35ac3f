import Primitives

/// The authenticator Poly1305, written from RFC 8439 §2.5.
///
/// The number has five limbs of 26 bits, so that products fit in 64 bits. Neither a branch nor an address depends on the
/// key or the text.
enum Poly1305 {
    /// The length of a tag, in bytes.
    static let length = 16

    /// Returns the tag of bytes.
    ///
    /// - Parameters:
    ///   - bytes: Bytes of any number.
    ///   - key: 32 bytes, which authenticate nothing else.
    /// - Returns: ``length`` bytes.
    static func tag(of bytes: Span<UInt8>, key: Span<UInt8>) -> [UInt8] {
        precondition(key.count == 32, "Poly1305 has another key")
        let r = Limbs(
            word(key, 0) & 0x3FF_FFFF,
            word(key, 3) >> 2 & 0x3FF_FF03,
            word(key, 6) >> 4 & 0x3FF_C0FF,
            word(key, 9) >> 6 & 0x3F0_3FFF,
            word(key, 12) >> 8 & 0xF_FFFF
        )
        var sum = Limbs()
        var offset = 0
        while offset + 16 <= bytes.count {
            sum.add(bytes, at: offset, end: 1 << 24)
            sum.multiply(by: r)
            offset += 16
        }
        if offset < bytes.count {
            var last = [UInt8](repeating: 0, count: 16)
            for index in offset..<bytes.count { last[index - offset] = bytes[index] }
            last[bytes.count - offset] = 1
            sum.add(last.span, at: 0, end: 0)
            sum.multiply(by: r)
        }
        sum.reduce()
        return sum.tag(adding: key)
    }

    /// Whether two tags are equal, in constant time.
    static func isEqual(_ tag: [UInt8], _ other: Span<UInt8>) -> Bool {
        var difference: UInt8 = 0
        for index in 0..<length { difference |= tag[index] ^ other[index] }
        return difference == 0
    }

    fileprivate static func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        UInt64(
            bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian
        )
    }
}

/// A number modulo 2¹³⁰ − 5, least significant limb first.
private struct Limbs {
    private static let mask: UInt64 = 0x3FF_FFFF

    private var l0, l1, l2, l3, l4: UInt64

    init(
        _ l0: UInt64 = 0,
        _ l1: UInt64 = 0,
        _ l2: UInt64 = 0,
        _ l3: UInt64 = 0,
        _ l4: UInt64 = 0
    ) { (self.l0, self.l1, self.l2, self.l3, self.l4) = (l0, l1, l2, l3, l4) }

    /// Adds 16 bytes, and a bit after them in the uppermost limb.
    mutating func add(_ bytes: Span<UInt8>, at offset: Int, end: UInt64) {
        l0 &+= Poly1305.word(bytes, offset) & Self.mask
        l1 &+= Poly1305.word(bytes, offset + 3) >> 2 & Self.mask
        l2 &+= Poly1305.word(bytes, offset + 6) >> 4 & Self.mask
        l3 &+= Poly1305.word(bytes, offset + 9) >> 6 & Self.mask
        l4 &+= Poly1305.word(bytes, offset + 12) >> 8 | end
    }

    /// Multiplies; limbs stay below 2²⁷.
    mutating func multiply(by r: Limbs) {
        // 2¹³⁰ is 5, so what passes the uppermost limb returns at the lowest, five times.
        let (s1, s2, s3, s4) = (r.l1 &* 5, r.l2 &* 5, r.l3 &* 5, r.l4 &* 5)
        let d0 = l0 &* r.l0 &+ l1 &* s4 &+ l2 &* s3 &+ l3 &* s2 &+ l4 &* s1
        let d1 = l0 &* r.l1 &+ l1 &* r.l0 &+ l2 &* s4 &+ l3 &* s3 &+ l4 &* s2
        let d2 = l0 &* r.l2 &+ l1 &* r.l1 &+ l2 &* r.l0 &+ l3 &* s4 &+ l4 &* s3
        let d3 = l0 &* r.l3 &+ l1 &* r.l2 &+ l2 &* r.l1 &+ l3 &* r.l0 &+ l4 &* s4
        let d4 = l0 &* r.l4 &+ l1 &* r.l3 &+ l2 &* r.l2 &+ l3 &* r.l1 &+ l4 &* r.l0
        (l0, l1, l2, l3, l4) = (d0, d1, d2, d3, d4)
        carry()
        l1 &+= l0 >> 26
        l0 &= Self.mask
    }

    /// Reduces the number to less than 2¹³⁰ − 5.
    mutating func reduce() {
        // What the first pass adds at the lowest limb can carry through all of them.
        carry()
        carry()
        // Of the number and the number plus 5 minus 2¹³⁰, the second if it is not negative.
        var other = self
        other.l0 &+= 5
        other.l4 &-= 1 << 26
        other.l1 &+= other.l0 >> 26
        other.l2 &+= other.l1 >> 26
        other.l3 &+= other.l2 >> 26
        other.l4 &+= other.l3 >> 26
        let isOther = (other.l4 >> 63) &- 1
        l0 = l0 & ~isOther | other.l0 & isOther & Self.mask
        l1 = l1 & ~isOther | other.l1 & isOther & Self.mask
        l2 = l2 & ~isOther | other.l2 & isOther & Self.mask
        l3 = l3 & ~isOther | other.l3 & isOther & Self.mask
        l4 = l4 & ~isOther | other.l4 & isOther & Self.mask
    }

    /// The reduced number plus the second half of the key, modulo 2¹²⁸.
    func tag(adding key: Span<UInt8>) -> [UInt8] {
        let words = [
            l0 | l1 << 26, l1 >> 6 | l2 << 20, l2 >> 12 | l3 << 14, l3 >> 18 | l4 << 8,
        ]
        var tag: [UInt8] = []
        var sum: UInt64 = 0
        for (index, word) in words.enumerated() {
            sum = (sum >> 32) &+ (word & 0xFFFF_FFFF) &+ Poly1305.word(key, 16 + 4 * index)
            for byte in 0..<4 { tag.append(UInt8(truncatingIfNeeded: sum >> UInt64(8 * byte))) }
        }
        return tag
    }

    /// Moves what a limb has above 26 bits to the next, and from the uppermost to the lowest.
    private mutating func carry() {
        l1 &+= l0 >> 26
        l2 &+= l1 >> 26
        l3 &+= l2 >> 26
        l4 &+= l3 >> 26
        l0 = (l0 & Self.mask) &+ (l4 >> 26) &* 5
        l1 &= Self.mask
        l2 &= Self.mask
        l3 &= Self.mask
        l4 &= Self.mask
    }
}
