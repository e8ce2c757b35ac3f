/// One step of an edit; it identifies rows by ID, never by index.
///
/// Operations are applied in order and never fail: an operation on a row that does not exist has no effect, so that
/// concurrent edits can be combined in any order.
public enum ListOperation<Row: Identifiable> {
    /// Inserts a row, or replaces and moves the row with the same ID.
    ///
    /// The row is placed after the row `after`; first when `after` is `nil`; last when that row does not exist.
    case put(Row, after: Row.ID?)
    /// Moves a row after another, or first when `after` is `nil`; no effect when that row does not exist.
    case move(Row.ID, after: Row.ID?)
    /// Replaces the contents of the row with the same ID.
    case update(Row)
    /// Sets some members of the row with the same ID, by their coding keys; the others stay.
    ///
    /// The row is that of the client after its edit, with all members. A writer takes only the named ones from it:
    /// ``contents(over:)``.
    case set(Row, members: Set<String>)
    /// Removes a row.
    case remove(Row.ID)

    /// The ID of the row.
    public var id: Row.ID {
        switch self {
        case .put(let row, after: _), .update(let row), .set(let row, members: _): row.id
        case .move(let id, after: _), .remove(let id): id
        }
    }
}

extension ListOperation where Row: Equatable {
    /// Returns the contents of the operation's row after the operation.
    ///
    /// - Parameter current: The contents before it.
    /// - Returns: The operation's own contents with ``put(_:after:)`` and ``update(_:)``; the current ones with the
    ///   members that ``set(_:members:)`` names; otherwise the current ones. If the row is not `Codable`, or the members
    ///   do not fit together, a set replaces all contents.
    public func contents(over current: Row) -> Row {
        switch self {
        case .put(let row, after: _), .update(let row): row
        case .set(let row, let members):
            RowFields.merge(members, of: row, into: current) ?? row
        case .move, .remove: current
        }
    }
}

extension ListOperation: Sendable where Row: Sendable, Row.ID: Sendable {}
extension ListOperation: Equatable where Row: Equatable {}

// As JSON: {"op":"put","row":{…},"after":ID|null}, {"op":"move","id":ID,"after":ID|null},
// {"op":"update","row":{…}}, {"op":"remove","id":ID}. A set is an update whose row has only "id" and the members to set;
// it is not decoded as such, because an absent member may also mean nil.
extension ListOperation {
    private enum Name: String, Codable {
        case put, move, update, remove
    }

    private enum Key: String, CodingKey {
        case name = "op"
        case row, id, after
    }
}

extension ListOperation: Encodable where Row: Encodable, Row.ID: Encodable {
    /// Encodes the operation in the wire format of live lists.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .put(let row, let after):
            try container.encode(Name.put, forKey: .name)
            try container.encode(row, forKey: .row)
            try container.encode(after, forKey: .after)
        case .move(let id, let after):
            try container.encode(Name.move, forKey: .name)
            try container.encode(id, forKey: .id)
            try container.encode(after, forKey: .after)
        case .update(let row):
            try container.encode(Name.update, forKey: .name)
            try container.encode(row, forKey: .row)
        case .set(let row, let members):
            try container.encode(Name.update, forKey: .name)
            try container.encode(
                RowPart(row: row, names: members.union([RowFields.id])),
                forKey: .row
            )
        case .remove(let id):
            try container.encode(Name.remove, forKey: .name)
            try container.encode(id, forKey: .id)
        }
    }
}

extension ListOperation: Decodable where Row: Decodable, Row.ID: Decodable {
    /// Decodes an operation; a missing `after` means the first place.
    ///
    /// - Throws: A `DecodingError` that names the member.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        switch try container.decode(Name.self, forKey: .name) {
        case .put:
            self = .put(
                try container.decode(Row.self, forKey: .row),
                after: try container.decodeIfPresent(Row.ID.self, forKey: .after)
            )
        case .move:
            self = .move(
                try container.decode(Row.ID.self, forKey: .id),
                after: try container.decodeIfPresent(Row.ID.self, forKey: .after)
            )
        case .update: self = .update(try container.decode(Row.self, forKey: .row))
        case .remove: self = .remove(try container.decode(Row.ID.self, forKey: .id))
        }
    }
}
