/// Where a live list stands with its source.
public enum ListState: Sendable {
    /// The list has not begun.
    case initial
    /// The rows are on their way.
    case loading
    /// The rows are there, and follow every change.
    case live
    /// Something is wrong; the rows are the last that there were, and the list tries again.
    case failed(any Error)

    /// Whether the rows follow every change.
    public var isLive: Bool { if case .live = self { true } else { false } }

    /// Whether the rows are on their way for the first time.
    public var isLoading: Bool {
        switch self {
        case .initial, .loading: true
        case .live, .failed: false
        }
    }

    /// What is wrong, if something is.
    public var error: (any Error)? { if case .failed(let error) = self { error } else { nil } }
}
