package import LiveRows

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
