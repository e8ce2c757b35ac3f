public import LiveRows

/// All rows of a list, in order, as they were at a revision.
public struct ListSnapshot<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// Counts the changes that the list's one writer has made.
    public var revision: UInt64
    /// The rows, in order.
    public var rows: [Row]

    /// Numbers a state of a list.
    ///
    /// - Parameters:
    ///   - revision: The number of the last change that the rows contain.
    ///   - rows: The rows, in order.
    public init(revision: UInt64, rows: [Row]) {
        self.revision = revision
        self.rows = rows
    }
}

/// What one commit changed, as everybody is told it.
public struct ListChange<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The number of the change: one more than that of the change before.
    public var revision: UInt64
    /// The name that the committing client gave its edit; `nil` when nobody waits for it.
    public var mutation: String?
    /// What to do, in order.
    public var operations: [ListOperation<Row>]

    /// Numbers a change of a list.
    ///
    /// - Parameters:
    ///   - revision: One more than that of the change before.
    ///   - mutation: The name of the edit that it stems from.
    ///   - operations: What to do, in order.
    public init(revision: UInt64, mutation: String?, operations: [ListOperation<Row>]) {
        self.revision = revision
        self.mutation = mutation
        self.operations = operations
    }
}

/// What a client asks the list's writer to do.
public struct ListCommit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit's name: unique, so that a commit which comes twice is done once.
    public var mutation: String
    /// What to do, in order.
    public var operations: [ListOperation<Row>]
    /// The revision the list must still have; `nil` when the edit is meant whatever has changed.
    ///
    /// For forms: a writer refuses the edit when somebody else has changed the list since.
    public var ifRevision: UInt64?

    /// Names an edit.
    ///
    /// - Parameters:
    ///   - mutation: A name that no other edit has, such as a UUID.
    ///   - operations: What to do, in order.
    ///   - ifRevision: The revision the list must still have.
    public init(mutation: String, operations: [ListOperation<Row>], ifRevision: UInt64? = nil) {
        self.mutation = mutation
        self.operations = operations
        self.ifRevision = ifRevision
    }
}

extension ListSnapshot: Codable where Row: Codable {}
extension ListChange: Codable where Row: Codable, Row.ID: Codable {}
extension ListCommit: Codable where Row: Codable, Row.ID: Codable {}
extension ListSnapshot: Equatable {}
extension ListChange: Equatable {}
extension ListCommit: Equatable {}
