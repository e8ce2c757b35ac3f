public import LiveRows

/// An update of a live list: the changes and the resulting rows.
public struct ListUpdate<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The rows after the changes.
    public let rows: RowList<Row>
    /// The changes since the previous update; in the first update, since an empty list.
    public let changes: RowChanges
    /// The state of the connection to the source.
    public let state: ListState
    /// The number of the update; if a number is missing, compare the rows with those shown.
    public let number: Int
}

/// An edit that the list's writer refused or that was given up; it has been reverted.
public struct RefusedEdit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit, to show it to the user or to apply it again.
    public let commit: ListCommit<Row>
    /// The reason.
    public let error: any Error
}

/// An edit that had no usable answer and is sent again; it stays applied.
public struct RetriedEdit<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit.
    public let commit: ListCommit<Row>
    /// The failure of the last attempt.
    public let error: any Error
    /// The number of failed attempts.
    public let attempts: Int
}

/// The state of a live list's connection to its source.
public enum ListState: Sendable {
    /// The list has not started.
    case initial
    /// The rows, or changes missed during an interruption, are being loaded.
    case loading
    /// The rows are loaded and follow every change.
    case live
    /// There is no connection, for this reason.
    ///
    /// The last rows stay, and edits wait for the connection. The list reconnects automatically.
    case offline(any Error)
    /// An error occurred; the last rows stay, and the list retries.
    case failed(any Error)

    /// Whether the rows follow every change.
    public var isLive: Bool { if case .live = self { true } else { false } }

    /// Whether the rows, or changes missed during an interruption, are being loaded.
    public var isLoading: Bool {
        switch self {
        case .initial, .loading: true
        case .live, .offline, .failed: false
        }
    }

    /// Whether there is no connection to the source.
    public var isOffline: Bool { if case .offline = self { true } else { false } }

    /// The reason for which the list is offline or has failed; otherwise `nil`.
    public var error: (any Error)? {
        switch self {
        case .initial, .loading, .live: nil
        case .offline(let error), .failed(let error): error
        }
    }

    /// Whether both states are the same, with errors of the same text.
    func isSame(as other: ListState) -> Bool {
        switch (self, other) {
        case (.initial, .initial), (.loading, .loading), (.live, .live): true
        case (.offline(let left), .offline(let right)), (.failed(let left), .failed(let right)):
            "\(left)" == "\(right)"
        default: false
        }
    }
}
