import Primitives

/// Writes JSON; inserts commas and escapes.
public struct JSONWriter: Sendable {
    /// The text written so far.
    public private(set) var bytes: [UInt8] = []
    /// Whether the next value needs a comma before it.
    private var needsComma = false

    /// Creates an empty writer with capacity for a typical message.
    public init() { bytes.reserveCapacity(128) }

    /// Reserves capacity for a text of this length in bytes.
    mutating func reserveCapacity(_ length: Int) { bytes.reserveCapacity(length) }

    /// Begins an object; write each member as a ``name(_:)`` and a value.
    public mutating func beginObject() { begin("{") }

    /// Ends the object.
    public mutating func endObject() { end("}") }

    /// Begins an array.
    public mutating func beginArray() { begin("[") }

    /// Ends the array.
    public mutating func endArray() { end("]") }

    /// Writes the name of a member.
    public mutating func name(_ name: String) {
        string(name)
        bytes.append(":")
        needsComma = false
    }

    /// Writes a string.
    public mutating func string(_ text: String) {
        text.withUTF8Bytes { string($0) }
    }

    /// Writes a string of UTF-8 bytes.
    public mutating func string(_ text: Span<UInt8>) {
        separate()
        JSONWriter.append(text, to: &bytes)
    }

    /// Writes an integer.
    public mutating func integer(_ number: Int) {
        separate()
        bytes.append(decimal: number)
    }

    /// Writes `true` or `false`.
    public mutating func boolean(_ value: Bool) {
        separate()
        bytes.append(value ? "true" : "false")
    }

    /// Writes the literal `null`.
    public mutating func null() {
        separate()
        bytes.append("null")
    }

    /// Writes JSON text unchanged.
    public mutating func verbatim(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func begin(_ bracket: StaticString) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: StaticString) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(",") }
        needsComma = true
    }

    /// Appends UTF-8 text as a JSON string, including quotes.
    public static func append(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append("\"")
        var start = 0
        while true {
            let index = text.firstIndex(from: start) { $0.escaped }
            bytes.append(text.extracting(start..<index))
            guard index < text.count else { break }
            start = index + 1
            switch text[index] {
            case UInt8(ascii: "\""): bytes.append("\\\"")
            case UInt8(ascii: "\\"): bytes.append("\\\\")
            case 0x0A: bytes.append("\\n")
            case 0x0D: bytes.append("\\r")
            case 0x09: bytes.append("\\t")
            default:
                bytes.append(text[index] < 0x10 ? "\\u000" : "\\u001")
                bytes.append(contentsOf: String(text[index] & 0x0F, radix: 16).utf8)
            }
        }
        bytes.append("\"")
    }

    /// Returns UTF-8 text as a JSON string, including quotes.
    public static func token(_ text: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + 2)
        append(text, to: &bytes)
        return bytes
    }

    /// Returns text as a JSON string, including quotes.
    public static func token(_ text: String) -> [UInt8] { text.withUTF8Bytes { token($0) } }
}
