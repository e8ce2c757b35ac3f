import DemoSite
import GRDB

/// A row of the list, as new clients read and write it.
struct User: ListRow {
    static let databaseTableName = "Users"
    /// The most characters of a name.
    static let nameLengthMax = 100

    /// Made by who adds the user, and never used again.
    let id: Int64
    /// The name as it was entered.
    var name: String

    func check() throws(RequestError) {
        try RequestError.check(name, "name", limit: Self.nameLengthMax)
    }
}

/// A row of the list, as `GET /users` gives it to old clients.
struct ListedUser: Codable, Equatable, Sendable, FetchableRecord {
    let id: Int64
    let name: String
    /// The rank in the list: 1 for the first row, one more for each that follows.
    let position: Int
    /// When the row was last written, in UTC: `2026-01-31 23:59:59`.
    let updatedAt: String

    // Columns in the database and keys in an answer.
    private enum CodingKeys: String, CodingKey {
        case id, name, position
        case updatedAt = "updated_at"
    }

    /// All users, first row first.
    static func all(_ database: Database) throws -> [ListedUser] {
        try fetchAll(
            database,
            sql: "SELECT id, name, position, updated_at FROM Users ORDER BY position"
        )
    }
}
