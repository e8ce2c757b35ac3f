import Primitives

/// The types of RESP3, in the order of its specification, by their first byte.
public enum RESPKind: UInt8, Sendable {
    /// A list.
    case array = 0x2A  // *
    /// A string of any bytes, preceded by its length.
    case bulkString = 0x24  // $
    /// A short text without line breaks.
    case simpleString = 0x2B  // +
    /// An error in one line: a code in capitals, a space, a text.
    case simpleError = 0x2D  // -
    /// A signed integer of 64 bits.
    case integer = 0x3A  // :
    /// Nothing.
    case null = 0x5F  // _
    /// A floating-point number in decimal digits; also `inf`, `-inf` and `nan`.
    case double = 0x2C  // ,
    /// `t` or `f`.
    case boolean = 0x23  // #
    /// An error of any bytes, preceded by its length.
    case bulkError = 0x21  // !
    /// A text with its format, such as `txt`.
    case verbatimString = 0x3D  // =
    /// An integer of any size.
    case bigNumber = 0x28  // (
    /// Pairs of keys and values.
    case map = 0x25  // %
    /// A list without order.
    case set = 0x7E  // ~
    /// Pairs that describe the value that follows them.
    case attribute = 0x7C  // |
    /// A list that is not a reply: a published message, or the confirmation of a subscription.
    case push = 0x3E  // >

    /// Whether values of this type are made of other values.
    public var isAggregate: Bool {
        switch self {
        case .array, .map, .set, .attribute, .push: true
        default: false
        }
    }

    /// Whether the first line contains a length in bytes.
    var isBulk: Bool { self == .bulkString || self == .bulkError || self == .verbatimString }

    /// The maximum number of bytes of the first line, without its type and its end.
    func lineLengthMax(_ limits: RESPLimits) -> Int {
        switch self {
        case .simpleString, .simpleError, .bigNumber: limits.lineLengthMax
        // Longer than any number of 64 bits, integer or not.
        default: 32
        }
    }

    /// Whether a value of this type, which consists of one line, may have this text.
    func accepts(line: Span<UInt8>) -> Bool {
        switch self {
        case .simpleString, .simpleError: true
        case .integer: RESPNumber.integer(line) != nil
        case .null: line.isEmpty
        case .boolean: line.equals("t") || line.equals("f")
        case .double: RESPNumber.isDouble(line)
        case .bigNumber: RESPNumber.isBigNumber(line)
        default: false
        }
    }
}
