/// A section of a table.
public struct RowSection<ID: Hashable, Row: Identifiable & Equatable>: Identifiable, Equatable {
    /// The ID of the section, such as its heading.
    public var id: ID
    /// The section's rows, in order.
    public var rows: [Row]

    /// Creates a section.
    ///
    /// - Parameters:
    ///   - id: The ID of the section.
    ///   - rows: The rows, in order; their IDs must be unique across all sections.
    public init(id: ID, rows: [Row]) {
        self.id = id
        self.rows = rows
    }
}

extension RowSection: Sendable where ID: Sendable, Row: Sendable {}

/// Groups rows into sections by a key, in one pass.
///
/// - Parameters:
///   - rows: The rows; their order is kept within a section.
///   - key: Returns the section of a row.
///   - areInIncreasingOrder: Returns whether the first section comes before the second.
/// - Returns: The sections; none is empty.
public func sections<ID: Hashable, Row: Identifiable & Equatable>(
    of rows: some Sequence<Row>,
    by key: (Row) -> ID,
    sortedBy areInIncreasingOrder: (ID, ID) -> Bool
) -> [RowSection<ID, Row>] {
    Dictionary(grouping: rows, by: key)
        .sorted { areInIncreasingOrder($0.key, $1.key) }
        .map { RowSection(id: $0.key, rows: $0.value) }
}

/// Groups rows into sections by a key; the sections are sorted by key.
///
/// - Parameters:
///   - rows: The rows; their order is kept within a section.
///   - key: Returns the section of a row.
/// - Returns: The sections; none is empty.
public func sections<ID: Hashable & Comparable, Row: Identifiable & Equatable>(
    of rows: some Sequence<Row>,
    by key: (Row) -> ID
) -> [RowSection<ID, Row>] {
    sections(of: rows, by: key, sortedBy: <)
}
