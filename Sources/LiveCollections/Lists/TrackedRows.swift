package import LiveRows

/// Rows and their changes since the last update.
package struct TrackedRows<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private enum Unshown: Sendable {
        case nothing
        case one(RowChanges)
        case more
    }

    /// The current rows.
    package private(set) var keyed = KeyedRows<Row>()
    /// The rows of the last update.
    package private(set) var shown = RowList<Row>()
    private var unshown = Unshown.nothing

    package init() {}

    package var list: RowList<Row> { keyed.list }

    /// Applies an operation; returns the operation that reverts it, or `nil` if it had no effect.
    package mutating func apply(_ operation: ListOperation<Row>) -> ListOperation<Row>? {
        let effect = keyed.apply(operation)
        guard let inverse = effect.inverse else { return nil }
        if case .nothing = unshown { unshown = .one(effect.changes) } else { unshown = .more }
        return inverse
    }

    /// Replaces all rows.
    package mutating func replace(_ rows: KeyedRows<Row>) {
        keyed = rows
        unshown = .more
    }

    /// Returns the changes since the last update and marks the rows as shown.
    ///
    /// The changes of a single operation are known. After several operations, the changed pieces of the list are
    /// compared.
    package mutating func takeChanges() -> RowChanges {
        defer {
            shown = keyed.list
            unshown = .nothing
        }
        switch unshown {
        case .nothing: return RowChanges()
        case .one(let changes): return changes
        case .more: return changes(from: shown, to: keyed.list)
        }
    }
}

/// Returns the changes between two states of a list.
func changes<Row: LiveRow>(from old: RowList<Row>, to new: RowList<Row>) -> RowChanges {
    // The IDs of both were checked when they were created, so the comparison does not throw.
    (try? rowChanges(from: old, to: new))
        ?? RowChanges(deletes: Array(old.indices), inserts: Array(new.indices))
}
