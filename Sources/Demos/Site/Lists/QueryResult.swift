import LiveRows

/// A result of a query, and the version of the database that it is of.
package struct QueryResult<Row: ListRow>: Sendable {
    let version: Int64
    let rows: [Row]

    /// Takes a result of one transaction.
    ///
    /// - Parameters:
    ///   - version: Grows with each change of what is queried.
    ///   - rows: The rows in their order.
    package init(version: Int64, rows: [Row]) {
        self.version = version
        self.rows = rows
    }
}

/// One result after the other, and the revisions by which clients follow them.
struct QueryRevisions<Row: ListRow>: Sendable {
    /// The latest; `nil` before the first.
    private(set) var result: QueryResult<Row>?
    /// That of the latest result.
    private(set) var revision: Int64 = 0

    /// Takes the next result.
    ///
    /// - Parameters:
    ///   - next: The result.
    ///   - lengthMax: The most bytes of an event.
    /// - Returns: What is to be told of it; its operations are empty when there is nothing to do.
    mutating func advance(to next: QueryResult<Row>, lengthMax: Int) -> ListChange<Row>? {
        guard let old = result else {
            result = next
            // Clients that know earlier revisions see a gap, and load.
            revision = next.version
            return ListChange(revision: revision, mutation: nil, operations: [])
        }
        result = next
        let operations = ListOperation.leading(from: old.rows, to: next.rows)
        guard operations?.isEmpty != true else { return nil }
        revision += 1
        let change = operations.map {
            ListChange(revision: revision, mutation: nil, operations: $0)
        }
        if let change, let length = try? JSONText.encode(change).utf8.count, length <= lengthMax {
            return change
        }
        // Too much for an event: by a revision that is left out every client sees that it must load.
        revision += 1
        return ListChange(revision: revision, mutation: nil, operations: [])
    }

    /// A change of nothing, which tells clients that the query is answered again.
    mutating func repeated() -> ListChange<Row> {
        revision += 1
        return ListChange(revision: revision, mutation: nil, operations: [])
    }
}
