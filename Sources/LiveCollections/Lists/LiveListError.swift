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
    /// The backend's response has an unexpected status.
    case badAnswer(status: Int, text: String)
    /// An event of the list's channel cannot be decoded.
    case unreadableEvent(reason: String)
    /// The list was released while an edit was pending.
    case ended
}

extension LiveListError: CustomStringConvertible {
    /// The error, with the value and the limit, and its remedy.
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
        case .badAnswer(let status, let text):
            "the list's backend responded with status \(status): \(text)"
        case .unreadableEvent(let reason):
            "an event of the list's channel is not a valid change: \(reason)"
        case .ended: "the list was released; keep it until its edits are confirmed"
        }
    }
}
