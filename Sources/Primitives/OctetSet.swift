/// A set of ASCII characters, with one bit for each, so that a test is a shift and a mask.
public struct OctetSet: Sendable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    /// Makes a set from the bits of 0x00 to 0x3F and those of 0x40 to 0x7F.
    @inlinable
    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Returns whether a byte is in the set.
    @inlinable
    public func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte) & 1 != 0
    }

    // Computed properties, so that other modules can inline the constants.

    /// `tchar`, the characters of a token (RFC 9110 §5.6.2).
    @inlinable
    public static var token: OctetSet {
        OctetSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    }

    /// `unreserved` (RFC 3986 §2.3): the characters that are not percent-encoded.
    @inlinable
    public static var unreserved: OctetSet {
        OctetSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    }

    /// The characters of a registered name or IPv4 address (RFC 3986 §3.2.2).
    @inlinable
    public static var registeredName: OctetSet {
        OctetSet(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    }
}

extension UInt8 {
    /// Whether this is one of `0`…`9`.
    @inlinable
    public var isDigit: Bool { self &- 0x30 < 10 }

    /// Whether this is one of `A`…`Z` and `a`…`z`.
    @inlinable
    public var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }

    /// The value of a hexadecimal digit of either case; `nil` for anything else.
    @inlinable
    public var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }

    /// The lower-case form of an ASCII letter; any other byte unchanged.
    @inlinable
    public var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
