/// The error for two rows of one list with the same ID.
public struct DuplicateRow: Error, Hashable, Sendable, CustomStringConvertible {
    /// The ID, as text.
    public let id: String
    /// The index of the first row with the ID.
    public let first: Int
    /// The index of the second row with the ID.
    public let second: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - id: The ID, as text.
    ///   - first: The index of the first row with the ID.
    ///   - second: The index of the second row with the ID.
    public init(id: String, first: Int, second: Int) {
        self.id = id
        self.first = first
        self.second = second
    }

    /// The error and what to do about it.
    public var description: String {
        "rows \(first) and \(second) have the same id \(id); give each row its own id"
    }
}

/// Searches for two rows with the same ID.
///
/// - Parameter rows: The rows; all of them are checked.
/// - Returns: The first repeated ID with both indices; `nil` when all IDs are different.
public func duplicateRow<Rows: Sequence>(in rows: Rows) -> DuplicateRow?
where Rows.Element: Identifiable {
    var indices: [Rows.Element.ID: Int] = [:]
    indices.reserveCapacity(rows.underestimatedCount)
    for (index, row) in rows.enumerated() {
        if let first = indices.updateValue(index, forKey: row.id) {
            return DuplicateRow(id: "\(row.id)", first: first, second: index)
        }
    }
    return nil
}
