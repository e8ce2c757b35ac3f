package import LiveRows

/// Rows, and what leads to them from those that were shown last.
package struct TrackedRows<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private enum Since: Sendable {
        case nothing
        case one(RowChanges)
        case more
    }

    /// The rows as they are.
    package private(set) var keyed = KeyedRows<Row>()
    /// The rows as they were shown last.
    package private(set) var shown = RowList<Row>()
    private var since = Since.nothing

    package init() {}

    package var list: RowList<Row> { keyed.list }

    /// Applies an operation.
    ///
    /// - Returns: What takes it back; `nil` when it did nothing.
    package mutating func apply(_ operation: ListOperation<Row>) -> ListOperation<Row>? {
        let effect = keyed.apply(operation)
        guard let inverse = effect.inverse else { return nil }
        if case .nothing = since { since = .one(effect.changes) } else { since = .more }
        return inverse
    }

    /// Puts other rows in the place of all.
    package mutating func replace(_ rows: KeyedRows<Row>) {
        keyed = rows
        since = .more
    }

    /// What leads from the rows that were shown last to those that are; they count as shown now.
    ///
    /// One operation says itself what it changes. After more of them the pieces of the list in
    /// which something has happened are compared.
    package mutating func takeChanges() -> RowChanges {
        defer {
            shown = keyed.list
            since = .nothing
        }
        switch since {
        case .nothing: return RowChanges()
        case .one(let changes): return changes
        case .more: return changes(from: shown, to: keyed.list)
        }
    }
}

/// What leads from one state of a list to another.
func changes<Row: LiveRow>(from old: RowList<Row>, to new: RowList<Row>) -> RowChanges {
    // Both had their ids checked when they were made, so the comparison does not throw.
    (try? rowChanges(from: old, to: new))
        ?? RowChanges(deletes: Array(old.indices), inserts: Array(new.indices))
}
