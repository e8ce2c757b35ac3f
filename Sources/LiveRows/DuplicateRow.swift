/// Two rows of one list have the same id, so that nobody can tell which is meant.
public struct DuplicateRow: Error, Hashable, Sendable, CustomStringConvertible {
    /// The id, as text.
    public let id: String
    /// The index of the first row that has it.
    public let first: Int
    /// The index of the second row that has it.
    public let second: Int

    /// Names an id and where it occurs.
    ///
    /// - Parameters:
    ///   - id: The id, as text.
    ///   - first: The index of the first row that has it.
    ///   - second: The index of the second row that has it.
    public init(id: String, first: Int, second: Int) {
        self.id = id
        self.first = first
        self.second = second
    }

    /// What is wrong, and what to do about it.
    public var description: String {
        "rows \(first) and \(second) have the same id \(id); give each row an id of its own"
    }
}

/// Looks for two rows with one id.
///
/// - Parameter rows: The rows; each is looked at.
/// - Returns: The first id that comes again, with both indices; `nil` when all ids are different.
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
