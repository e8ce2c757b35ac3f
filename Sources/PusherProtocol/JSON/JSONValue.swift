import Primitives

/// The kind and range of one value in a JSON text; its bytes are copied only on request.
public struct JSONValue: Equatable, Sendable {
    /// The kinds of values (RFC 8259 §3).
    public enum Kind: Equatable, Sendable {
        /// An object, `{…}`.
        case object
        /// An array, `[…]`.
        case array
        /// A string, `"…"`.
        case string
        /// A number, kept as text: floating point would round a 64-bit id.
        case number
        /// One of the literals `true` and `false`.
        case boolean(Bool)
        /// The literal `null`.
        case null
    }

    /// The kind of the value.
    public let kind: Kind
    /// Whether this is a string with an escape that is half of a surrogate pair.
    ///
    /// Such a string can be passed on, but not compared or used as a name: others have the same ``decoded(in:)`` value.
    public private(set) var hasLoneSurrogate = false
    /// The range of the value in the text, including quotes and brackets.
    public let range: Range<Int>
    /// The length in bytes: of a string, without quotes and with its escapes decoded; of another value, as written.
    public let decodedLength: Int

    /// Whether this is a string with escapes.
    public var hasEscapes: Bool {
        kind == .string && decodedLength != range.count - 2
    }

    /// The range between the quotes of a string.
    var content: Range<Int> { range.lowerBound + 1..<range.upperBound - 1 }

    /// Returns the bytes of the value as written.
    public func token(in text: Span<UInt8>) -> [UInt8] {
        text.extracting(range).copy()
    }

    /// Returns the value of a string as UTF-8, with U+FFFD for half of a surrogate pair; of another value, its text.
    public func decoded(in text: Span<UInt8>) -> [UInt8] {
        guard kind == .string else { return token(in: text) }
        let content = text.extracting(content)
        return hasEscapes ? JSONEscapes.decode(content, length: decodedLength) : content.copy()
    }

    /// Returns the value of a string, with U+FFFD for half of a surrogate pair; of another value, its text.
    public func string(in text: Span<UInt8>) -> String {
        guard kind == .string, !hasEscapes else {
            return String(decoding: decoded(in: text), as: UTF8.self)
        }
        return text.extracting(content).string()
    }

    /// Returns the value of a string as UTF-16 code units, with half of a surrogate pair as it is; of another value,
    /// its text.
    public func codeUnits(in text: Span<UInt8>) -> [UInt16] {
        guard hasLoneSurrogate else { return Array(string(in: text).utf16) }
        return JSONEscapes.codeUnits(text.extracting(content))
    }

    /// Returns the value of a string that holds JSON text; half of a surrogate pair stays an escape, which means the
    /// same there.
    public func decodedJSON(in text: Span<UInt8>) -> [UInt8] {
        guard hasLoneSurrogate else { return decoded(in: text) }
        return JSONEscapes.decode(
            text.extracting(content),
            length: range.count,
            keepsLoneSurrogates: true
        )
    }

    /// Whether this is a string whose value is `literal`.
    public func equals(_ literal: StaticString, in text: Span<UInt8>) -> Bool {
        guard kind == .string, decodedLength == literal.utf8CodeUnitCount else { return false }
        guard !hasEscapes else { return decoded(in: text).span.starts(with: literal) }
        return text.extracting(content).starts(with: literal)
    }
}
