import LiveRows

/// A result of a query with the version of the database.
package struct QueryResult<Row: ListRow>: Sendable {
    let version: Int64
    let rows: [Row]

    /// Creates the result of one transaction; each change of the queried data must increase the version.
    package init(version: Int64, rows: [Row]) {
        self.version = version
        self.rows = rows
    }
}

/// Consecutive results, and the revisions by which clients follow them.
struct QueryRevisions<Row: ListRow>: Sendable {
    /// The latest result; `nil` before the first.
    private(set) var result: QueryResult<Row>?
    /// The revision of the latest result.
    private(set) var revision: Int64 = 0

    /// Advances to the next result.
    ///
    /// - Parameters:
    ///   - next: The result.
    ///   - lengthMax: The maximum length of an event, in bytes.
    /// - Returns: The change to publish, or `nil` for none; a change without operations if clients must reload.
    mutating func advance(to next: QueryResult<Row>, lengthMax: Int) -> ListChange<Row>? {
        guard let old = result else {
            result = next
            // Clients with earlier revisions detect a gap and reload.
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
        // Too large for an event: a skipped revision makes every client detect a gap and reload.
        revision += 1
        return ListChange(revision: revision, mutation: nil, operations: [])
    }

    /// Returns an empty change, which reports that the query has recovered.
    mutating func recovered() -> ListChange<Row> {
        revision += 1
        return ListChange(revision: revision, mutation: nil, operations: [])
    }
}

extension ListOperation where Row: ListRow {
    /// Returns the operations from one result to the next, with as few moves as possible; `nil` if an ID is not unique.
    static func leading(from old: [Row], to new: [Row]) -> [ListOperation]? {
        guard duplicateRow(in: new) == nil, let changes = try? rowChanges(from: old, to: new) else {
            return nil
        }
        let inserted = Set(changes.inserts)
        let moved = Set(changes.moves.map(\.to))
        let updated = Set(changes.updates)
        var operations = changes.deletes.map { ListOperation.remove(old[$0].id) }
        // In ascending order, so that each row's predecessor is already at its final index.
        for (index, row) in new.enumerated() {
            let predecessor = index > 0 ? new[index - 1].id : nil
            if inserted.contains(index) || moved.contains(index) && updated.contains(index) {
                operations.append(.put(row, after: predecessor))
            } else if moved.contains(index) {
                operations.append(.move(row.id, after: predecessor))
            } else if updated.contains(index) {
                operations.append(.update(row))
            }
        }
        return operations
    }
}
