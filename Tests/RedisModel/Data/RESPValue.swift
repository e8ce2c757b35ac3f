import Primitives
package import RESP

/// A value of RESP3 as a tree, with its exact bytes.
package indirect enum RESPValue: Equatable, Sendable, CustomStringConvertible {
    case simpleString(ByteString)
    case error(ByteString)
    case integer(Int64)
    case bulk(ByteString)
    case verbatim(ByteString)
    case null
    /// An aggregate; a map has keys and values by turns.
    case list(RESPKind, [RESPValue])

    package static let ok = RESPValue.simpleString("OK")

    package static func array(_ elements: [RESPValue]) -> RESPValue { .list(.array, elements) }

    /// A string, or null for none.
    static func bulk(_ string: ByteString?) -> RESPValue { string.map { .bulk($0) } ?? .null }

    static func integer(_ number: Int) -> RESPValue { .integer(Int64(number)) }

    /// 1 or 0, as scripts return it.
    static func flag(_ isSet: Bool) -> RESPValue { .integer(isSet ? 1 : 0) }

    /// Copies a received value.
    ///
    /// Kinds that the model never sends become strings.
    package init(_ view: borrowing RESPView) {
        switch view.kind {
        case .null: self = .null
        case .integer: self = .integer(view.integer ?? 0)
        case .simpleString: self = .simpleString(ByteString(view.copy()))
        case .verbatimString: self = .verbatim(ByteString(view.copy()))
        case .simpleError, .bulkError: self = .error(ByteString(view.copy()))
        case let kind where kind.isAggregate:
            var elements: [RESPValue] = []
            view.forEach { elements.append(RESPValue($0)) }
            self = .list(kind, elements)
        default: self = .bulk(ByteString(view.copy()))
        }
    }

    /// The elements of an aggregate; none for anything else.
    package var elements: [RESPValue] {
        if case .list(_, let elements) = self { elements } else { [] }
    }

    /// The bytes of a string or an error; nil for anything else.
    package var string: ByteString? {
        switch self {
        case .bulk(let string), .simpleString(let string), .error(let string),
            .verbatim(let string):
            string
        default: nil
        }
    }

    /// For messages of tests.
    package var description: String {
        switch self {
        case .simpleString(let string): "+\(string)"
        case .error(let text): "-\(text)"
        case .integer(let number): "\(number)"
        case .bulk(let string), .verbatim(let string): "\"\(string)\""
        case .null: "null"
        case .list(let kind, let elements):
            "\(Character(Unicode.Scalar(kind.rawValue)))[\(elements.map(\.description).joined(separator: ", "))]"
        }
    }

    /// Appends the value in RESP3.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .simpleString(let string): Self.append(.simpleString, string.bytes, to: &bytes)
        case .error(let text): Self.append(.simpleError, text.bytes, to: &bytes)
        case .integer(let number): Self.append(.integer, Array(String(number).utf8), to: &bytes)
        case .null: Self.append(.null, [], to: &bytes)
        case .bulk(let string): Self.append(.bulkString, counted: string.bytes, to: &bytes)
        case .verbatim(let string):
            Self.append(.verbatimString, counted: Array("txt:".utf8) + string.bytes, to: &bytes)
        case .list(let kind, let elements):
            let count = kind == .map ? elements.count / 2 : elements.count
            Self.append(kind, Array(String(count).utf8), to: &bytes)
            for element in elements { element.encode(to: &bytes) }
        }
    }

    private static func append(_ kind: RESPKind, _ line: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        bytes += line
        bytes += [0x0D, 0x0A]
    }

    private static func append(_ kind: RESPKind, counted: [UInt8], to bytes: inout [UInt8]) {
        append(kind, Array(String(counted.count).utf8), to: &bytes)
        bytes += counted
        bytes += [0x0D, 0x0A]
    }
}
