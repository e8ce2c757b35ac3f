public import LiveRows

/// An update of a live list: the changes, and the rows that they lead to.
public struct ListUpdate<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The rows after the changes.
    public let rows: RowList<Row>
    /// The changes since the previous update; in the first update, since an empty list.
    public let changes: RowChanges
    /// The state of the connection to the source.
    public let state: ListState
    /// The number of the update; after a gap, compare the rows with those shown.
    public let number: Int
}

/// An edit that the list's writer refused; it has been reverted.
public struct RefusedEdit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit.
    public let commit: ListCommit<Row>
    /// The reason.
    public let error: any Error
}

/// The state of a live list's connection to its source.
public enum ListState: Sendable {
    /// The list has not started.
    case initial
    /// The rows are being loaded.
    case loading
    /// The rows are loaded and follow every change.
    case live
    /// An error occurred; the last rows stay, and the list retries.
    case failed(any Error)

    /// Whether the rows follow every change.
    public var isLive: Bool { if case .live = self { true } else { false } }

    /// Whether the rows are being loaded for the first time.
    public var isLoading: Bool {
        switch self {
        case .initial, .loading: true
        case .live, .failed: false
        }
    }

    /// The error of a failed list.
    public var error: (any Error)? { if case .failed(let error) = self { error } else { nil } }
}
