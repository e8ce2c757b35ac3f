public import LiveRows

/// All rows of a list at a revision.
public struct ListSnapshot<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The number of changes that the list's writer has made.
    public var revision: UInt64
    /// The rows, in order.
    public var rows: [Row]
    /// The rows that could not be decoded; they are not in ``rows`` and are not encoded.
    public var omittedRows: [OmittedRow] = []

    /// Creates a snapshot.
    ///
    /// - Parameters:
    ///   - revision: The number of the last change contained in the rows.
    ///   - rows: The rows, in order.
    public init(revision: UInt64, rows: [Row]) {
        self.revision = revision
        self.rows = rows
    }
}

/// The change of one commit, as it is published.
public struct ListChange<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The number of the change: one more than that of the previous change.
    public var revision: UInt64
    /// The ID of the client's edit; `nil` for a change for which no client waits.
    public var mutation: String?
    /// The operations, in order.
    public var operations: [ListOperation<Row>]

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - revision: One more than that of the previous change.
    ///   - mutation: The ID of the edit.
    ///   - operations: The operations, in order.
    public init(revision: UInt64, mutation: String?, operations: [ListOperation<Row>]) {
        self.revision = revision
        self.mutation = mutation
        self.operations = operations
    }
}

/// A client's edit for the list's writer.
public struct ListCommit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The unique ID of the edit, so that a repeated commit is applied once.
    public var mutation: String
    /// The operations, in order.
    public var operations: [ListOperation<Row>]
    /// The revision that the list must have; `nil` for any.
    ///
    /// The writer refuses the edit if the list has changed since. This is useful for forms.
    public var ifRevision: UInt64?

    /// Creates a commit.
    ///
    /// - Parameters:
    ///   - mutation: A unique ID, such as a UUID.
    ///   - operations: The operations, in order.
    ///   - ifRevision: The revision that the list must have; `nil` for any.
    public init(mutation: String, operations: [ListOperation<Row>], ifRevision: UInt64? = nil) {
        self.mutation = mutation
        self.operations = operations
        self.ifRevision = ifRevision
    }
}

extension ListChange: Codable where Row: Codable, Row.ID: Codable {}
extension ListCommit: Codable where Row: Codable, Row.ID: Codable {}
extension ListSnapshot: Equatable {}
extension ListChange: Equatable {}
extension ListCommit: Equatable {}
