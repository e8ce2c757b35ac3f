/// Eight octets in one word, compared all at once; their order does not matter.
///
/// A mark is the highest bit of an octet's place. No borrow or carry leaves its octet, so each mark is
/// exact.
struct EightOctets {
    /// One bit for each of eight octets.
    typealias Marks = UInt64

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }
    private let word: UInt64

    init(_ word: UInt64) { self.word = word }

    /// Marks the octets with the value `octet`.
    func equal(to octet: UInt8) -> Marks {
        let difference = word ^ Self.ones &* UInt64(octet)
        let isNonzero = ((difference & ~Self.highBits) &+ ~Self.highBits) | difference
        return ~isNonzero & Self.highBits
    }

    /// Marks the octets less than `octet`, which is 128 at most.
    func less(than octet: UInt8) -> Marks {
        ~((word | Self.highBits) &- Self.ones &* UInt64(octet)) & ~word & Self.highBits
    }

    /// Marks the octets that are not ASCII.
    var notASCII: Marks { word & Self.highBits }

    /// The same octets with the bits of `mask` cleared, so that two values become one.
    func clearing(_ mask: UInt8) -> EightOctets { EightOctets(word & ~(Self.ones &* UInt64(mask))) }
}
