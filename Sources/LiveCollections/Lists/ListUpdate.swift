public import LiveRows

/// What a live list tells those who show it: the changes, and the rows that they lead to.
public struct ListUpdate<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The rows after the changes.
    public let rows: RowList<Row>
    /// What leads to them from the rows of the update before; from none, in the first update.
    public let changes: RowChanges
    /// Where the list stands with its source.
    public let state: ListState
    /// Counts the list's updates: whoever has missed one compares with what they show.
    public let number: Int
}

/// An edit that the list's writer did not take in; it has been taken back.
public struct RefusedEdit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit.
    public let commit: ListCommit<Row>
    /// Why.
    public let error: any Error
}
