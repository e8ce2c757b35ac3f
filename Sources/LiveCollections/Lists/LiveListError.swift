/// An error of a live list.
public enum LiveListError: Error, Hashable, Sendable {
    /// The writer refused an edit.
    case refused(reason: String)
    /// The limit of unconfirmed edits is reached.
    case tooManyPendingEdits(limit: Int)
    /// An edit has too many operations.
    case tooManyOperations(count: Int, limit: Int)
    /// The list has, or would have, too many rows.
    case tooManyRows(count: Int, limit: Int)
    /// The source is read-only.
    case readOnly
    /// An edit was sent this many times without a usable answer; the backend may still have applied it.
    case unanswered(attempts: Int, reason: String)
    /// There is no connection to the list's channel.
    case notConnected(reason: String)
    /// The source has ended by itself.
    case sourceEnded
    /// An event of the list's channel cannot be decoded.
    case unreadableEvent(reason: String)
    /// Rows of a snapshot cannot be decoded and are left out.
    case unreadableRows(count: Int, first: OmittedRow)
    /// The list was released while an edit was pending.
    case ended
}

extension LiveListError: CustomStringConvertible {
    /// The error with the value and the limit, and what to do about it.
    public var description: String {
        switch self {
        case .refused(let reason): "the edit was refused and reverted: \(reason)"
        case .tooManyPendingEdits(let limit):
            """
            \(limit) edits are unconfirmed, which is the limit; wait for some of them, \
            or raise ListOptions.pendingEditsMax
            """
        case .tooManyOperations(let count, let limit):
            """
            the edit has \(count) operations, more than \(limit); split it, or \
            raise ListOptions.operationsMax
            """
        case .tooManyRows(let count, let limit):
            """
            the list has \(count) rows, more than \(limit); show a part of it, or raise \
            ListOptions.rowsMax
            """
        case .readOnly: "the list's source is read-only; give it a commit closure"
        case .unanswered(let attempts, let reason):
            """
            the edit was sent \(attempts) times without a usable answer and is reverted, although the backend may have \
            applied it; edit again, or raise ListOptions.commitAttemptsMax. The last failure: \(reason)
            """
        case .notConnected(let reason): "the list's channel is not connected: \(reason)"
        case .sourceEnded:
            "the list's source has ended without an error; it is started again"
        case .unreadableEvent(let reason):
            """
            an event of the list's channel is not a valid change, so all rows are fetched: \(reason). Check what the \
            backend publishes
            """
        case .unreadableRows(let count, let first):
            """
            \(count) of the list's rows cannot be read and are left out. The first is \(first). Check what the backend \
            stores, or make the type of the rows accept it
            """
        case .ended: "the list was released; keep it until its edits are confirmed"
        }
    }
}
