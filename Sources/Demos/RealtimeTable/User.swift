import GRDB

/// A row of the table `Users`.
struct User: Codable, Equatable, Sendable, FetchableRecord {
    /// Given by the database and never used again, so it names this user for ever.
    let id: Int64
    /// The name as it was entered, without white space around it.
    let name: String
    /// The rank in the list: 1 for the first row, one more for each that follows.
    let position: Int
    /// When the row was added or last moved, in UTC: `2026-01-31 23:59:59`.
    let updatedAt: String

    // Columns in the database and keys in an answer.
    private enum CodingKeys: String, CodingKey {
        case id, name, position
        case updatedAt = "updated_at"
    }
}
