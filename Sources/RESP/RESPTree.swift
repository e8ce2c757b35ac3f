/// A received value as a tree with its own memory, for rare reads; ``RESPView`` reads values in place.
package indirect enum RESPTree: Equatable, Sendable {
    /// A string, an error or a number, as text.
    case text(RESPKind, String)
    /// A null.
    case null
    /// An aggregate; in a map, keys and values alternate.
    case list(RESPKind, [RESPTree])

    /// Copies a value.
    package init(_ view: borrowing RESPView) {
        switch view.kind {
        case .null: self = .null
        case let kind where kind.isAggregate:
            var elements: [RESPTree] = []
            view.forEach { elements.append(RESPTree($0)) }
            self = .list(kind, elements)
        case let kind: self = .text(kind, view.text)
        }
    }

    /// The text of a string, an error or a number; empty for anything else.
    package var text: String { if case .text(_, let text) = self { text } else { "" } }

    /// The elements; empty for a value without elements.
    package var elements: [RESPTree] {
        if case .list(_, let elements) = self { elements } else { [] }
    }

    /// Whether this is an error.
    package var isError: Bool {
        if case .text(let kind, _) = self {
            kind == .simpleError || kind == .bulkError
        } else {
            false
        }
    }

    /// The texts of a map, or of a list of alternating keys and values.
    package var fields: [String: String] {
        let elements = elements
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: elements.count - 1, by: 2) {
            fields[elements[index].text] = elements[index + 1].text
        }
        return fields
    }

    /// The value of a key of a map, or of a list of alternating keys and values; null if there is none.
    package subscript(name: String) -> RESPTree {
        let elements = elements
        for index in stride(from: 0, to: elements.count - 1, by: 2)
        where elements[index].text == name {
            return elements[index + 1]
        }
        return .null
    }

    /// An integer.
    package static func integer(_ number: Int) -> RESPTree { .text(.integer, "\(number)") }

    /// A string with a length.
    package static func bulk(_ text: String) -> RESPTree { .text(.bulkString, text) }
}
