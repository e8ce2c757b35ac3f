#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The members of `Codable` rows, by their coding keys, so that an edit can change a part of a row.
package enum RowFields {
    /// The member that identifies a row on the wire.
    static let id = "id"

    /// Returns the names of the members in which two contents of a row differ.
    ///
    /// - Parameters:
    ///   - old: The contents before an edit.
    ///   - new: The contents after it.
    /// - Returns: The names; `nil` if the row can only be replaced as a whole: it is not `Codable`, has no member `id`,
    ///   or has contents that its members do not show.
    package static func names<Row: Equatable>(from old: Row, to new: Row) -> Set<String>? {
        guard let before = members(of: old), let after = members(of: new), after[id] != nil else {
            return nil
        }
        let names = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        guard !names.contains(id), merge(names, of: new, into: old) == new else { return nil }
        return names
    }

    /// Returns a row's contents with the named members of others; `nil` if they do not fit together.
    static func merge<Row: Equatable>(
        _ names: Set<String>,
        of new: Row,
        into current: Row
    ) -> Row? {
        guard let type = Row.self as? any Decodable.Type, let values = members(of: new),
            var merged = members(of: current)
        else { return nil }
        for name in names { merged[name] = values[name] }
        guard let data = try? JSONEncoder().encode(merged) else { return nil }
        return (try? JSONDecoder().decode(type, from: data)) as? Row
    }

    private static func members(of row: some Any) -> [String: Member]? {
        guard let row = row as? any Encodable, let data = try? JSONEncoder().encode(row) else {
            return nil
        }
        return try? JSONDecoder().decode([String: Member].self, from: data)
    }
}

/// The JSON value of a member.
private indirect enum Member: Codable, Equatable {
    case null
    case flag(Bool)
    case integer(Int64)
    case natural(UInt64)
    case number(Double)
    case text(String)
    case array([Member])
    case object([String: Member])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let natural = try? value.decode(UInt64.self) {
            self = .natural(natural)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([Member].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: Member].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .flag(let flag): try value.encode(flag)
        case .integer(let integer): try value.encode(integer)
        case .natural(let natural): try value.encode(natural)
        case .number(let number): try value.encode(number)
        case .text(let text): try value.encode(text)
        case .array(let array): try value.encode(array)
        case .object(let object): try value.encode(object)
        }
    }
}
