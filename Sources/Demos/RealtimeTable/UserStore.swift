import GRDB

/// The users in their order, in SQLite.
///
/// Ids decide which row is meant; an index is only what a screen showed when its user acted, and may be
/// stale. Ranks are rewritten in the transaction of the change, so they are always 1, 2, 3 …
struct UserStore: Sendable {
    /// The most rows that the list takes.
    static let userCountMax = 1_000

    let database: DatabaseQueue

    /// All users, first row first.
    func users() throws -> [User] {
        try database.read { try Self.ordered($0) }
    }

    /// Adds a user after the last row.
    ///
    /// - Returns: The new user's id, or `nil` when the list is full.
    func add(name: String) throws -> Int64? {
        try database.write { database in
            let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM Users") ?? 0
            guard count < Self.userCountMax else { return nil }
            try database.execute(
                sql: "INSERT INTO Users (name, position) VALUES (?, ?)",
                arguments: [name, count + 1]
            )
            return database.lastInsertedRowID
        }
    }

    /// Removes a user and closes the gap.
    ///
    /// - Returns: The index that the row had, or `nil` when there is no such user.
    func remove(id: Int64) throws -> Int? {
        try database.write { database in
            var order = try Self.ordered(database)
            guard let index = order.firstIndex(where: { $0.id == id }) else { return nil }
            order.remove(at: index)
            try database.execute(sql: "DELETE FROM Users WHERE id = ?", arguments: [id])
            try Self.rank(order, in: database)
            return index
        }
    }

    /// Moves a user to the place of another.
    ///
    /// - Returns: What was done, or `nil` when there is no such user.
    func move(_ request: Move) throws -> Move? {
        try database.write { database in
            var order = try Self.ordered(database)
            guard let source = order.firstIndex(where: { $0.id == request.sourceID }) else {
                return nil
            }
            let destination = request.destination(in: order, from: source)
            let done = Move(
                sourceIndex: source,
                destinationIndex: destination,
                sourceID: request.sourceID,
                destinationID: order[destination].id
            )
            order.insert(order.remove(at: source), at: destination)
            try Self.rank(order, in: database)
            try database.execute(
                sql: "UPDATE Users SET updated_at = CURRENT_TIMESTAMP WHERE id = ?",
                arguments: [request.sourceID]
            )
            return done
        }
    }

    private static func ordered(_ database: Database) throws -> [User] {
        try User.fetchAll(
            database,
            sql: "SELECT id, name, position, updated_at FROM Users ORDER BY position, id"
        )
    }

    /// Gives the rows of `order` the ranks 1, 2, 3 …, touching only those whose rank changes.
    private static func rank(_ order: [User], in database: Database) throws {
        for (index, user) in order.enumerated() where user.position != index + 1 {
            try database.execute(
                sql: "UPDATE Users SET position = ? WHERE id = ?",
                arguments: [index + 1, user.id]
            )
        }
    }
}
