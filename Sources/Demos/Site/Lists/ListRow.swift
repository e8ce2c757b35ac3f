package import GRDB

/// A row of a live list, in JSON and in its database table.
///
/// The table has a column for each property, `id` as the primary key, and a column `position INTEGER NOT NULL`, which
/// the list sets: 1 for the first row.
///
///     struct Film: ListRow {
///         static let databaseTableName = "Films"
///         let id: Int64
///         var title: String
///         func check() throws(RequestError) { try RequestError.check(title, "title", limit: 100) }
///     }
package protocol ListRow: Codable, Equatable, Sendable, Identifiable, FetchableRecord,
    PersistableRecord
where ID: Codable & Sendable & DatabaseValueConvertible {
    /// Validates a client's row; throws a ``RequestError`` with the field, its value and the limit.
    func check() throws(RequestError)
}

extension RequestError {
    /// Checks that text is not blank and has at most `limit` characters; throws a ``RequestError`` with the field.
    package static func check(
        _ text: String,
        _ field: String,
        limit: Int
    ) throws(RequestError) {
        guard text.contains(where: { !$0.isWhitespace }) else { throw .empty(field: field) }
        guard text.count <= limit else { throw .tooLong(field: field, limit: limit) }
    }
}

extension Int64 {
    /// Returns a random ID for a new row, from 2³² up to 2⁵³: large enough to avoid collisions, small enough for
    /// JavaScript.
    package static func newRowID() -> Int64 { .random(in: 1 << 32..<1 << 53) }
}
