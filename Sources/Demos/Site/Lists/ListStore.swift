package import GRDB
import HTTP1
package import LiveRows

/// A commit that is in the database.
package struct ListCommit<Row: ListRow>: Sendable {
    /// What everybody is told.
    package let change: ListChange<Row>
    /// Each operation that was done, and the order of the ids before it, for who has to know indices.
    package let steps: [Step]
    /// The change as JSON text.
    package let data: String

    /// One operation that was done.
    package struct Step: Sendable {
        /// The operation, with the anchor that was true then.
        package let operation: ListOperation<Row>
        /// The ids in their order before the operation.
        package let before: [Row.ID]
        /// The ids in their order after it.
        package let after: [Row.ID]
    }
}

/// The rows of one list, in their order, in SQLite.
///
/// A commit is one transaction: all of its operations are done, or none. Ranks are rewritten with it, so they are
/// always 1, 2, 3 …
package struct ListStore<Row: ListRow>: Sendable {
    private let database: DatabaseQueue
    private let limits: ListLimits
    private var name: String { Row.databaseTableName }

    /// Takes a list whose table is there.
    package init(_ database: DatabaseQueue, limits: ListLimits = ListLimits()) {
        self.database = database
        self.limits = limits
    }

    /// The rows and the revision that they are of.
    package func snapshot() throws -> ListSnapshot<Row> {
        try database.read { database in
            ListSnapshot(revision: try revision(database), rows: try rows(database))
        }
    }

    /// The revision of a mutation that was committed before; `nil` for one that was not, or too long ago.
    package func revision(of mutation: String) throws -> Int64? {
        try database.read { try revision(of: mutation, $0) }
    }

    /// Applies an edit, in one transaction.
    ///
    /// - Parameters:
    ///   - mutation: What its maker calls it; `nil` for one that is never repeated.
    ///   - expected: The revision that the list must have; `nil` for any.
    ///   - decide: Says what to do to the rows as they are now.
    /// - Returns: What was done; `nil` when this mutation was committed before.
    /// - Throws: A ``RequestError`` that names the limit or the revision, whatever `decide` throws, or a `DatabaseError` of GRDB. The
    ///   list is as it was before.
    package func commit(
        _ mutation: String?,
        ifRevision expected: Int64? = nil,
        _ decide: ([Row]) throws -> [ListOperation<Row>]
    ) throws -> ListCommit<Row>? {
        try database.write { database in
            if let mutation, try revision(of: mutation, database) != nil { return nil }
            let before = try rows(database)
            let revision = try revision(database) + 1
            if let expected, expected != revision - 1 {
                throw RequestError.refused(
                    409,
                    "Somebody else has changed the list: it has revision \(revision - 1), not \(expected)."
                )
            }
            let operations = try decide(before)
            var order = ListOrder(before) { try predecessor(of: $0, database) }
            var steps: [ListCommit<Row>.Step] = []
            for operation in operations {
                try check(operation)
                let ids = order.ids
                guard let done = try order.apply(operation) else { continue }
                steps.append(.init(operation: done, before: ids, after: order.ids))
            }
            guard order.rows.count <= max(limits.rowsMax, before.count) else {
                throw RequestError.refused(
                    409,
                    "The list is full: it takes \(limits.rowsMax) rows at most."
                )
            }
            try write(order.rows, over: before, database)
            try remember(revision, mutation, order.removals, database)
            let change = ListChange(
                revision: revision,
                mutation: mutation,
                operations: steps.map(\.operation)
            )
            let data = try JSONText.encode(change)
            guard data.utf8.count <= limits.eventLengthMax else {
                throw RequestError.refused(
                    413,
                    """
                    The event for this change would have \(data.utf8.count) bytes of at most \
                    \(limits.eventLengthMax): make it in several commits.
                    """
                )
            }
            return ListCommit(change: change, steps: steps, data: data)
        }
    }

    private func check(_ operation: ListOperation<Row>) throws(RequestError) {
        switch operation {
        case .put(let row, _), .update(let row): try row.check()
        case .move, .remove: break
        }
    }
}

extension ListStore {
    private func rows(_ database: Database) throws -> [Row] {
        try Row.order(sql: "position").fetchAll(database)
    }

    private func revision(_ database: Database) throws -> Int64 {
        let sql = "SELECT revision FROM Lists WHERE name = ?"
        return try Int64.fetchOne(database, sql: sql, arguments: [name]) ?? 0
    }

    private func revision(of mutation: String, _ database: Database) throws -> Int64? {
        let sql = "SELECT revision FROM ListMutations WHERE list = ? AND mutation = ?"
        return try Int64.fetchOne(database, sql: sql, arguments: [name, mutation])
    }

    /// What stood before a removed row; `nil` when nothing is known of it.
    private func predecessor(of id: Row.ID, _ database: Database) throws -> Row.ID?? {
        let sql = "SELECT predecessor FROM ListRemovals WHERE list = ? AND id = ?"
        let row = try GRDB.Row.fetchOne(database, sql: sql, arguments: [name, id])
        return row.map { $0[0] as Row.ID? }
    }

    /// Touches only the rows that the edit has changed or shifted.
    private func write(_ rows: [Row], over before: [Row], _ database: Database) throws {
        var old: [Row.ID: Ranked<Row>] = [:]
        for (index, row) in before.enumerated() { old[row.id] = Ranked(row: row, index: index) }
        for (index, row) in rows.enumerated() {
            let ranked = Ranked(row: row, index: index)
            switch old.removeValue(forKey: row.id) {
            case nil: try ranked.insert(database)
            case ranked?: break
            case .some: try ranked.update(database)
            }
        }
        for ranked in old.values { try ranked.delete(database) }
    }

    private func remember(
        _ revision: Int64,
        _ mutation: String?,
        _ removals: [Row.ID: Row.ID?],
        _ database: Database
    ) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO Lists VALUES (?, ?)",
            arguments: [name, revision]
        )
        if let mutation {
            try database.execute(
                sql: "INSERT INTO ListMutations VALUES (?, ?, ?)",
                arguments: [name, mutation, revision]
            )
        }
        for (id, predecessor) in removals {
            try database.execute(
                sql: "INSERT OR REPLACE INTO ListRemovals VALUES (?, ?, ?, ?)",
                arguments: [name, id, predecessor, revision]
            )
        }
        for table in ["ListMutations", "ListRemovals"] {
            try database.execute(
                sql: "DELETE FROM \(table) WHERE list = ? AND revision <= ?",
                arguments: [name, revision - limits.memoryMax]
            )
        }
    }
}

/// A row with its rank, as the table has it.
private struct Ranked<Row: ListRow>: PersistableRecord, Equatable {
    static var databaseTableName: String { Row.databaseTableName }
    let row: Row
    let index: Int

    func encode(to container: inout PersistenceContainer) throws {
        try row.encode(to: &container)
        container["position"] = index + 1
    }
}
