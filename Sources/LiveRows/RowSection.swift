/// A section of a table: rows under a heading.
public struct RowSection<ID: Hashable, Row: Identifiable & Equatable>: Identifiable, Equatable {
    /// What the section stays the same section by, such as its heading.
    public var id: ID
    /// The section's rows, in order.
    public var rows: [Row]

    /// Puts rows under a heading.
    ///
    /// - Parameters:
    ///   - id: What the section stays the same section by.
    ///   - rows: The rows, in order; no id occurs twice in all sections together.
    public init(id: ID, rows: [Row]) {
        self.id = id
        self.rows = rows
    }
}

extension RowSection: Sendable where ID: Sendable, Row: Sendable {}

/// Sorts rows into sections by a key, in one pass.
///
/// - Parameters:
///   - rows: The rows; those of a section keep their order.
///   - key: The section that a row belongs to.
///   - areInIncreasingOrder: The order of the sections.
/// - Returns: The sections that have rows.
public func sections<ID: Hashable, Row: Identifiable & Equatable>(
    of rows: some Sequence<Row>,
    by key: (Row) -> ID,
    sortedBy areInIncreasingOrder: (ID, ID) -> Bool
) -> [RowSection<ID, Row>] {
    Dictionary(grouping: rows, by: key)
        .sorted { areInIncreasingOrder($0.key, $1.key) }
        .map { RowSection(id: $0.key, rows: $0.value) }
}

/// Sorts rows into sections by a key; the sections come in the order of the keys.
///
/// - Parameters:
///   - rows: The rows; those of a section keep their order.
///   - key: The section that a row belongs to.
/// - Returns: The sections that have rows.
public func sections<ID: Hashable & Comparable, Row: Identifiable & Equatable>(
    of rows: some Sequence<Row>,
    by key: (Row) -> ID
) -> [RowSection<ID, Row>] {
    sections(of: rows, by: key, sortedBy: <)
}
