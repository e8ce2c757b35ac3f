package import RESP

/// A value as a tree, for comparisons.
package indirect enum Value: Equatable, Sendable {
    case text(RESPKind, String)
    case null
    case list(RESPKind, [Value])

    package init(_ view: borrowing RESPView) {
        switch view.kind {
        case .null: self = .null
        case let kind where kind.isAggregate:
            var elements: [Value] = []
            view.forEach { elements.append(Value($0)) }
            self = .list(kind, elements)
        case let kind: self = .text(kind, view.text)
        }
    }

    /// The text of a string, an error or a number; empty for anything else.
    package var text: String { if case .text(_, let text) = self { text } else { "" } }

    /// The elements; none for a value without.
    package var elements: [Value] { if case .list(_, let elements) = self { elements } else { [] } }

    /// An integer.
    package static func integer(_ number: Int) -> Value { .text(.integer, "\(number)") }

    /// A string with a length.
    package static func bulk(_ text: String) -> Value { .text(.bulkString, text) }
}
