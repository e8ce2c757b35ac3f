public import LiveRows

/// A model of a table view that checks its rules, for tests.
///
/// It has a cell for each row and performs a batch as a table view does: deletions by the indices before it, insertions
/// by the indices after it, independent of the order of the calls. Where a table view would raise an exception or show
/// wrong rows, the model throws a ``TableViolation`` that names the rule.
///
/// ```
/// var table = TableOracle(rows: films)
/// try table.apply(rowChanges(from: films, to: later), rows: later)
/// ```
public struct TableOracle<Row: Identifiable & Equatable> {
    /// The rows that the cells show.
    public private(set) var cells: [Row]
    /// The number of cells that were requested.
    ///
    /// A cell is requested for each initial, inserted, reloaded or updated row; an unchanged or moved row keeps its
    /// cell.
    public private(set) var cellsMade: Int

    /// Creates a table that shows rows.
    public init(rows: some Sequence<Row>) {
        cells = Array(rows)
        cellsMade = cells.count
    }

    /// Shows rows without a batch, as `reloadData` does.
    public mutating func reload(_ rows: some Sequence<Row>) { self = TableOracle(rows: rows) }

    /// Performs changes as a table view does: one batch, then the updates in place.
    ///
    /// - Parameters:
    ///   - changes: The changes that the app reports.
    ///   - rows: The rows of the data source after the changes.
    /// - Throws: The violated rule; the table is then unchanged.
    public mutating func apply(
        _ changes: RowChanges,
        rows: some Collection<Row>
    ) throws(TableViolation) {
        var calls = changes.moves.map { TableOracleCall.move(from: $0.from, to: $0.to) }
        calls += changes.inserts.map { .insert($0) }
        // Last on purpose, because the order of the calls does not matter.
        calls += changes.deletes.map { .delete($0) }
        var table = self
        try table.batch(calls, rows: rows)
        try table.update(changes.updates, rows: rows)
        try table.checkContents(rows)
        self = table
    }

    /// Performs a batch; ``update(_:rows:)`` applies changed contents.
    ///
    /// - Parameters:
    ///   - calls: The calls within the batch, in any order.
    ///   - rows: The rows of the data source after the batch.
    /// - Throws: The violated rule; the table is then unchanged.
    public mutating func batch(
        _ calls: [TableOracleCall],
        rows: some Collection<Row>
    ) throws(TableViolation) {
        let new = Array(rows)
        var removed: [Int: TableOracleCall] = [:]
        var added: [Int: Row?] = [:]
        for call in calls {
            try record(call, &removed, &added, count: new.count)
        }
        let deleted = removed.values.count { if case .delete = $0 { true } else { false } }
        let inserted = added.values.count { $0 == nil }
        guard cells.count + inserted - deleted == new.count else {
            throw .countMismatch(
                before: cells.count,
                inserted: inserted,
                deleted: deleted,
                after: new.count
            )
        }
        var staying = cells.indices.lazy
            .filter { if case .reload = removed[$0] { true } else { removed[$0] == nil } }
            .makeIterator()
        var after: [Row] = []
        var made = 0
        for (index, row) in new.enumerated() {
            if let arrival = added[index] {
                after.append(arrival ?? row)
                if arrival == nil { made += 1 }
            } else if let old = staying.next() {
                let isReloaded = removed[old] != nil
                after.append(isReloaded ? row : cells[old])
                if isReloaded { made += 1 }
            }
            guard after[index].id == row.id else {
                throw .wrongRow(new: index, shown: "\(after[index])", expected: "\(row)")
            }
        }
        cells = after
        cellsMade += made
    }

    /// Updates the contents of cells in place, outside of a batch.
    ///
    /// - Parameters:
    ///   - indices: The current indices of the rows.
    ///   - rows: The rows of the data source.
    /// - Throws: ``TableViolation/wrongUpdate(new:count:)`` when an index is out of range or repeated.
    public mutating func update(
        _ indices: [Int],
        rows: some Collection<Row>
    ) throws(TableViolation) {
        guard !indices.isEmpty else { return }
        let new = Array(rows)
        var seen: Set<Int> = []
        for index in indices {
            guard cells.indices.contains(index), new.indices.contains(index),
                seen.insert(index).inserted
            else { throw .wrongUpdate(new: index, count: cells.count) }
            cells[index] = new[index]
        }
        cellsMade += indices.count
    }

    /// Checks that the table shows exactly the rows.
    ///
    /// - Parameter rows: The rows of the data source.
    /// - Throws: The first difference.
    public func checkContents(_ rows: some Collection<Row>) throws(TableViolation) {
        guard cells.count == rows.count else {
            throw .countMismatch(
                before: cells.count,
                inserted: 0,
                deleted: 0,
                after: rows.count
            )
        }
        for (index, (cell, row)) in zip(cells, rows).enumerated() where cell != row {
            throw .staleRow(new: index, shown: "\(cell)", expected: "\(row)")
        }
    }

    /// Records the rows that a call names before and after the batch.
    private func record(
        _ call: TableOracleCall,
        _ removed: inout [Int: TableOracleCall],
        _ added: inout [Int: Row?],
        count: Int
    ) throws(TableViolation) {
        switch call {
        case .delete(let old), .reload(let old), .move(from: let old, to: _):
            guard cells.indices.contains(old) else {
                throw .noSuchRow(call: call, count: cells.count)
            }
            if let other = removed.updateValue(call, forKey: old) {
                throw Self.conflict(call, other, old)
            }
        case .insert: break
        }
        switch call {
        case .insert(let new), .move(from: _, to: let new):
            guard (0..<count).contains(new) else {
                throw .noSuchRow(call: .insert(new), count: count)
            }
            let row: Row? = if case .move(let old, _) = call { cells[old] } else { nil }
            guard added.updateValue(row, forKey: new) == nil else { throw .filledTwice(new: new) }
        case .delete, .reload: break
        }
    }

    private static func conflict(
        _ call: TableOracleCall,
        _ other: TableOracleCall,
        _ old: Int
    ) -> TableViolation {
        switch (call, other) {
        case (.delete, .move), (.move, .delete): .deletedAndMoved(old: old)
        case (.reload, .move), (.move, .reload): .reloadedAndMoved(old: old)
        default: .namedTwice(old: old)
        }
    }
}

extension TableOracle: Sendable where Row: Sendable {}
