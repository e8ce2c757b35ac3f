/// The rule of JSON (RFC 8259) that a text violates, and the byte offset of the violation.
public enum JSONError: Error, Equatable, Sendable {
    /// The text ended inside a value.
    case unexpectedEnd
    /// A byte that is not allowed here: wrong punctuation, a misspelt literal, anything after the value.
    case unexpectedByte(UInt8, at: Int)
    /// A malformed number (§6), such as `01`, `1.` or `+1`.
    case malformedNumber(at: Int)
    /// An unescaped control character inside a string (§7).
    case controlCharacter(at: Int)
    /// A backslash followed by a character that §7 does not allow.
    case malformedEscape(at: Int)
    /// Bytes that are not UTF-8 (§8.1).
    case malformedUTF8(at: Int)
    /// Objects and arrays nested deeper than `depthMax`.
    case tooDeep(depthMax: Int, at: Int)
}

extension JSONError: CustomStringConvertible {
    /// The violation and its offset, as a part of a sentence.
    public var description: String {
        switch self {
        case .unexpectedEnd: "it ends inside a value"
        case .unexpectedByte(let byte, let offset):
            "unexpected \(JSONError.spelling(of: byte)) at byte \(offset)"
        case .malformedNumber(let offset): "malformed number at byte \(offset)"
        case .controlCharacter(let offset): "unescaped control character at byte \(offset)"
        case .malformedEscape(let offset): "malformed escape at byte \(offset)"
        case .malformedUTF8(let offset): "malformed UTF-8 at byte \(offset)"
        case .tooDeep(let depthMax, let offset):
            "nested deeper than \(depthMax) levels at byte \(offset)"
        }
    }

    private static func spelling(of byte: UInt8) -> String {
        guard (0x21...0x7E).contains(byte) else {
            return "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}
