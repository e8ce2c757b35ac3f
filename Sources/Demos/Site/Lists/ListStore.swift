package import GRDB
import HTTP1
package import LiveRows

/// A stored commit.
package struct ListCommit<Row: ListRow>: Sendable {
    /// The change to publish.
    package let change: ListChange<Row>
    /// Each applied operation with the order of the IDs, for clients that need indices.
    package let steps: [Step]
    /// The change as JSON text.
    package let data: String

    /// One applied operation.
    package struct Step: Sendable {
        /// The operation with its resolved anchor.
        package let operation: ListOperation<Row>
        /// The IDs before the operation, in order.
        package let before: [Row.ID]
        /// The IDs after the operation, in order.
        package let after: [Row.ID]
    }
}

/// The ordered rows of one list in SQLite.
///
/// A commit is one transaction. It also rewrites the positions, so that they are always 1, 2, 3 …
package struct ListStore<Row: ListRow>: Sendable {
    private let database: DatabaseQueue
    private let limits: ListLimits
    private var name: String { Row.databaseTableName }

    /// Creates the store of a list whose table exists.
    package init(_ database: DatabaseQueue, limits: ListLimits = ListLimits()) {
        self.database = database
        self.limits = limits
    }

    /// Returns the rows and their revision.
    package func snapshot() throws -> ListSnapshot<Row> {
        try database.read { database in
            ListSnapshot(revision: try revision(database), rows: try rows(database))
        }
    }

    /// Returns the revision of an earlier mutation; `nil` when it is unknown or too old.
    package func revision(of mutation: String) throws -> Int64? {
        try database.read { try revision(of: mutation, $0) }
    }

    /// Applies an edit, in one transaction.
    ///
    /// - Parameters:
    ///   - mutation: The client's ID of the edit; `nil` for an edit that is never repeated.
    ///   - expected: The revision that the list must have; `nil` for any.
    ///   - decide: Returns the operations for the current rows.
    ///   - post: Adds the events of the commit, in its transaction.
    /// - Returns: The commit; `nil` if this mutation was committed before.
    /// - Throws: A ``RequestError`` with the limit or the revision, an error of `decide` or `post`, or a
    ///   `DatabaseError` of GRDB. The list is then unchanged.
    package func commit(
        _ mutation: String?,
        ifRevision expected: Int64? = nil,
        _ decide: ([Row]) throws -> [ListOperation<Row>],
        post: (ListCommit<Row>, Database) throws -> Void = { _, _ in }
    ) throws -> ListCommit<Row>? {
        try database.write { database in
            if let mutation, try revision(of: mutation, database) != nil { return nil }
            let before = try rows(database)
            let revision = try revision(database) + 1
            if let expected, expected != revision - 1 {
                throw RequestError.refused(
                    409,
                    "The list has changed: it has revision \(revision - 1), not \(expected)."
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
                    "The list is full: the limit is \(limits.rowsMax) rows."
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
                    \(limits.eventLengthMax): split it into several commits.
                    """
                )
            }
            let commit = ListCommit(change: change, steps: steps, data: data)
            try post(commit, database)
            return commit
        }
    }

    private func check(_ operation: ListOperation<Row>) throws(RequestError) {
        switch operation {
        case .put(let row, _), .update(let row), .set(let row, _): try row.check()
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

    /// Returns the predecessor of a removed row; `nil` when it is unknown.
    private func predecessor(of id: Row.ID, _ database: Database) throws -> Row.ID?? {
        let sql = "SELECT predecessor FROM ListRemovals WHERE list = ? AND id = ?"
        let row = try GRDB.Row.fetchOne(database, sql: sql, arguments: [name, id])
        return row.map { $0[0] as Row.ID? }
    }

    /// Writes only the rows that the edit has changed or shifted.
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

/// A row with its position, as in the table.
private struct Ranked<Row: ListRow>: PersistableRecord, Equatable {
    static var databaseTableName: String { Row.databaseTableName }
    let row: Row
    let index: Int

    func encode(to container: inout PersistenceContainer) throws {
        try row.encode(to: &container)
        container["position"] = index + 1
    }
}

/// The limits of a list.
package struct ListLimits: Equatable, Sendable {
    /// The maximum number of rows.
    package var rowsMax = 1_000
    /// The maximum number of operations of one commit.
    package var operationsMax = 200
    /// The maximum length of a commit's event, in bytes; all brokers of the protocol accept at least 10 KiB.
    package var eventLengthMax = 10_000
    /// The maximum length of a mutation ID, in characters.
    package var mutationLengthMax = 64
    /// The number of commits for which mutations and removed rows are remembered.
    package var memoryMax: Int64 = 5_000

    /// Creates the default limits.
    package init() {}

    /// Creates the default limits with another maximum number of rows.
    package init(rowsMax: Int) { self.rowsMax = rowsMax }
}
