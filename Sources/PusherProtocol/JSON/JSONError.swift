/// A rule of JSON (RFC 8259) that a text broke, and the byte where it did, counted from zero.
public enum JSONError: Error, Equatable, Sendable {
    /// The text ended inside a value.
    case unexpectedEnd
    /// A byte that cannot stand here: wrong punctuation, a misspelt literal, anything after the value.
    case unexpectedByte(UInt8, at: Int)
    /// A number that is not of the form of §6, such as `01`, `1.` or `+1`.
    case malformedNumber(at: Int)
    /// A control character inside a string must be escaped (§7).
    case controlCharacter(at: Int)
    /// A backslash with something else behind it than §7 allows.
    case malformedEscape(at: Int)
    /// Half of a surrogate pair in `\u` notation: it stands for no character, and UTF-8 cannot carry it.
    case loneSurrogate(at: Int)
    /// Bytes that are not UTF-8 (§8.1).
    case malformedUTF8(at: Int)
    /// Objects and arrays nested deeper than `depthMax`.
    case tooDeep(depthMax: Int, at: Int)
}

extension JSONError: CustomStringConvertible {
    /// What is wrong and where, as a part of a sentence.
    public var description: String {
        switch self {
        case .unexpectedEnd: "it ends inside a value"
        case .unexpectedByte(let byte, let offset):
            "unexpected \(JSONError.spelling(of: byte)) at byte \(offset)"
        case .malformedNumber(let offset): "malformed number at byte \(offset)"
        case .controlCharacter(let offset): "unescaped control character at byte \(offset)"
        case .malformedEscape(let offset): "malformed escape at byte \(offset)"
        case .loneSurrogate(let offset): "half a surrogate pair at byte \(offset)"
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
