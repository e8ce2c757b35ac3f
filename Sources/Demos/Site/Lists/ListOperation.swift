/// One step of an edit.
///
/// Places are named by the row before them, never by an index.
package enum ListOperation<Row: ListRow>: Equatable, Sendable {
    /// A new row, or an existing one that is replaced and moved; behind `after`, or first when that is `nil`.
    case put(Row, after: Row.ID?)
    /// An existing row goes behind `after`, or to the first place when that is `nil`.
    case move(Row.ID, after: Row.ID?)
    /// An existing row is replaced where it is.
    case update(Row)
    /// An existing row goes.
    case remove(Row.ID)
}

extension ListOperation: Codable {
    private enum Key: String, CodingKey { case op, row, id, after }

    private enum Kind: String, Codable { case put, move, update, remove }

    /// Reads `{"op": "move", "id": 7, "after": null}` and its like.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        switch try fields.decode(Kind.self, forKey: .op) {
        case .put:
            self = .put(
                try fields.decode(Row.self, forKey: .row),
                after: try fields.decodeIfPresent(Row.ID.self, forKey: .after)
            )
        case .move:
            self = .move(
                try fields.decode(Row.ID.self, forKey: .id),
                after: try fields.decodeIfPresent(Row.ID.self, forKey: .after)
            )
        case .update: self = .update(try fields.decode(Row.self, forKey: .row))
        case .remove: self = .remove(try fields.decode(Row.ID.self, forKey: .id))
        }
    }

    /// Writes the operation as it is read.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .put(let row, let after):
            try fields.encode(Kind.put, forKey: .op)
            try fields.encode(row, forKey: .row)
            // Written also when it is null, which says: first.
            try fields.encode(after, forKey: .after)
        case .move(let id, let after):
            try fields.encode(Kind.move, forKey: .op)
            try fields.encode(id, forKey: .id)
            try fields.encode(after, forKey: .after)
        case .update(let row):
            try fields.encode(Kind.update, forKey: .op)
            try fields.encode(row, forKey: .row)
        case .remove(let id):
            try fields.encode(Kind.remove, forKey: .op)
            try fields.encode(id, forKey: .id)
        }
    }
}

/// A list as it was at one revision.
package struct ListSnapshot<Row: ListRow>: Codable, Equatable, Sendable {
    /// How many commits had made it.
    package let revision: Int64
    /// The rows in their order.
    package let rows: [Row]
}

/// A commit, as everybody is told of it: the data of the event `list_changed`.
package struct ListChange<Row: ListRow>: Codable, Equatable, Sendable {
    /// The list's revision once the operations are applied; one more than before.
    package let revision: Int64
    /// What its maker calls the commit; `nil` when it has no name.
    package let mutation: String?
    /// What was done, in this order, with the anchors that were true then.
    package let operations: [ListOperation<Row>]

    private enum CodingKeys: String, CodingKey { case revision, mutation, operations }

    /// Writes all three fields, also a mutation that is null.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(revision, forKey: .revision)
        try fields.encode(mutation, forKey: .mutation)
        try fields.encode(operations, forKey: .operations)
    }
}
