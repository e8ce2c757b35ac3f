package import GRDB

/// A row of a live list, as clients read it and as its table in the database keeps it.
///
/// Its table has a column for each of its properties, `id` as the primary key, and a column `position`, which is the
/// list's own: `INTEGER NOT NULL`, 1 for the first row.
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
    /// Refuses what a client may not write.
    ///
    /// - Throws: The ``RequestError`` that names the field, its value and the limit.
    func check() throws(RequestError)
}

extension RequestError {
    /// Refuses a text that is blank or too long.
    ///
    /// - Parameters:
    ///   - text: What was sent.
    ///   - field: The name of its field.
    ///   - limit: The most characters that it may have.
    /// - Throws: ``empty(field:)`` or ``tooLong(field:limit:)``.
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
    /// An id for a new row: large enough that two makers hardly draw the same, small enough for JavaScript.
    ///
    /// - Returns: A random number from 2³² up to 2⁵³.
    package static func newRowID() -> Int64 { .random(in: 1 << 32..<1 << 53) }
}
