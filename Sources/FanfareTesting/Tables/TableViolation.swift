/// A violated rule of table views: a table view would raise an exception or show wrong rows.
public enum TableViolation: Error, Hashable, Sendable {
    /// A call of the batch names a row that does not exist.
    case noSuchRow(call: TableOracleCall, count: Int)
    /// A row from before the batch is named by two calls.
    case namedTwice(old: Int)
    /// A row is deleted and moved in one batch.
    case deletedAndMoved(old: Int)
    /// A row is reloaded and moved in one batch.
    case reloadedAndMoved(old: Int)
    /// Two calls of the batch fill one position.
    case filledTwice(new: Int)
    /// The number of rows after the batch is not the number before it plus insertions minus deletions.
    case countMismatch(before: Int, inserted: Int, deleted: Int, after: Int)
    /// The row at a position is not the one that the batch puts there.
    case wrongRow(new: Int, shown: String, expected: String)
    /// A row's contents have changed without an update.
    case staleRow(new: Int, shown: String, expected: String)
    /// An update names a row that does not exist, or repeats one.
    case wrongUpdate(new: Int, count: Int)
}

extension TableViolation: CustomStringConvertible {
    /// The violation, in a sentence with its indices.
    public var description: String {
        switch self {
        case .noSuchRow(let call, let count):
            """
            \(call) names a row that does not exist: there are \(count) rows \
            \(call.isAboutNewRows ? "after" : "before") the batch
            """
        case .namedTwice(let old):
            "row \(old) from before the batch is named twice; a row may be named once"
        case .deletedAndMoved(let old):
            "row \(old) from before the batch is both deleted and moved"
        case .reloadedAndMoved(let old):
            "row \(old) from before the batch is both reloaded and moved; update it afterwards"
        case .filledTwice(let new):
            "position \(new) after the batch is filled twice, by insertions or moves"
        case .countMismatch(let before, let inserted, let deleted, let after):
            """
            the number of rows after the batch (\(after)) must be the number before it (\(before)) \
            plus the \(inserted) inserted minus the \(deleted) deleted: \
            \(before + inserted - deleted)
            """
        case .wrongRow(let new, let shown, let expected):
            """
            row \(new) after the batch shows \(shown) instead of \(expected): the changes \
            do not belong to these rows
            """
        case .staleRow(let new, let shown, let expected):
            "row \(new) still shows \(shown) instead of \(expected): its update is missing"
        case .wrongUpdate(let new, let count):
            "the update of row \(new) is out of range (\(count) rows) or repeated"
        }
    }
}

/// A call within a table view's batch.
public enum TableOracleCall: Hashable, Sendable {
    /// Deletes the row at an index before the batch.
    case delete(Int)
    /// Inserts a row at an index after the batch.
    case insert(Int)
    /// Moves a row from an index before the batch to an index after it.
    case move(from: Int, to: Int)
    /// Reloads the cell of a row at an index before the batch.
    case reload(Int)

    /// Whether the index of a violation by this call belongs to the rows after the batch.
    var isAboutNewRows: Bool { if case .insert = self { true } else { false } }
}
