/// Received bytes that are not RESP3, or exceed a limit.
public enum RESPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No type begins with this byte.
    case unknownType(UInt8)
    /// The line of a number, boolean or null has another form; at most its first 32 bytes.
    case malformed(RESPKind, String)
    /// A line does not end with CRLF, or a string is longer than announced.
    case missingLineEnd(RESPKind)
    /// A verbatim string without its format, such as `txt:`.
    case missingFormat(length: Int)
    /// A string or aggregate of unknown length, which no Redis sends.
    case streamed(RESPKind)
    /// A push inside another value.
    case nestedPush
    /// A line exceeds `limit` bytes.
    case lineTooLong(RESPKind, limit: Int)
    /// A string announces `length` bytes.
    case bulkTooLong(length: Int, limit: Int)
    /// An aggregate announces elements, so that the value has `count`.
    case tooManyElements(count: Int, limit: Int)
    /// More than `limit` nested aggregates.
    case tooDeep(limit: Int)
    /// The value has at least `length` bytes.
    case valueTooLong(length: Int, limit: Int)

    /// A sentence for a log.
    public var description: String {
        switch self {
        case .unknownType(let byte): "no type of RESP3 begins with byte \(byte)"
        case .malformed(let kind, let text): "\"\(text)\" is not a valid \(kind)"
        case .missingLineEnd(let kind): "a value of type \(kind) is not ended by CRLF"
        case .missingFormat(let length):
            "a verbatim string of \(length) bytes does not begin with its format"
        case .streamed(let kind): "a value of type \(kind) without a length"
        case .nestedPush: "a push inside another value"
        case .lineTooLong(let kind, let limit):
            "a line of type \(kind) has more than \(limit) bytes"
        case .bulkTooLong(let length, let limit):
            "a string has \(length) bytes; the limit is \(limit)"
        case .tooManyElements(let count, let limit):
            "a value has \(count) elements; the limit is \(limit)"
        case .tooDeep(let limit): "more than \(limit) aggregates inside each other"
        case .valueTooLong(let length, let limit):
            "a value has \(length) bytes or more; the limit is \(limit)"
        }
    }
}
