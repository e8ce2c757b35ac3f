/// What a live list cannot do, and what to do about it.
public enum LiveListError: Error, Hashable, Sendable {
    /// The writer has refused an edit, for the reason it gives.
    case refused(reason: String)
    /// An edit was made while as many as may wait for their confirmation already did.
    case tooManyPendingEdits(limit: Int)
    /// An edit has more operations than it may.
    case tooManyOperations(count: Int, limit: Int)
    /// The list has, or would have, more rows than it may.
    case tooManyRows(count: Int, limit: Int)
    /// The source takes no edits.
    case readOnly
    /// The backend's answer is not what a live list is answered.
    case badAnswer(status: Int, text: String)
    /// An event of the list's channel cannot be read.
    case unreadableEvent(reason: String)
    /// The list has ended while an edit was waiting.
    case ended
}

extension LiveListError: CustomStringConvertible {
    /// What happened, with the value and the limit, and what to do.
    public var description: String {
        switch self {
        case .refused(let reason): "the edit was refused and taken back: \(reason)"
        case .tooManyPendingEdits(let limit):
            """
            \(limit) edits wait for their confirmation, which is the limit; wait for some of them, \
            or raise ListOptions.pendingEditsMax
            """
        case .tooManyOperations(let count, let limit):
            """
            the edit has \(count) operations, more than \(limit); make several edits of it, or \
            raise ListOptions.operationsMax
            """
        case .tooManyRows(let count, let limit):
            """
            the list has \(count) rows, more than \(limit); show a part of it, or raise \
            ListOptions.rowsMax
            """
        case .readOnly: "the list's source takes no edits; give it a way to commit them"
        case .badAnswer(let status, let text):
            "the list's backend answered with status \(status): \(text)"
        case .unreadableEvent(let reason):
            "an event of the list's channel is no change of it: \(reason)"
        case .ended: "the list has ended; keep it as long as its edits are waited for"
        }
    }
}
