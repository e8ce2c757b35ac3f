/// A set of ASCII characters: one bit each, so that a test is a shift and a mask.
struct OctetSet {
    private let low: UInt64
    private let high: UInt64

    /// Takes the bits of 0x00 to 0x3F and those of 0x40 to 0x7F.
    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte) & 1 != 0
    }

    /// `tchar`, the characters of a token (RFC 9110 §5.6.2).
    static let token = OctetSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)

    /// `unreserved` (RFC 3986 §2.3): what percent-encoding leaves alone.
    static let unreserved = OctetSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)

    /// The characters of a registered name or IPv4 address (RFC 3986 §3.2.2).
    static let registeredName = OctetSet(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
}

/// The characters with a role in the grammar.
enum Octet {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20

    /// `field-vchar`, SP or HTAB: what a field value may hold (RFC 9110 §5.5).
    static func isFieldValue(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == tab
    }

    /// SP or HTAB, the characters of `OWS` (RFC 9110 §5.6.3).
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    /// The value of a hexadecimal digit; nil when it is none.
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    /// The lower-case form of an ASCII letter; any other byte as it is.
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
