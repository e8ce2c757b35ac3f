/// Stands in for a table view, and knows its rules.
///
/// It keeps a cell for each row as a table view does, and makes of a batch what a table view would:
/// deletions by the indices before it, insertions by the indices after it, whatever the order of the
/// calls. What a table view would answer with an exception, or with rows that are not those of the
/// data, is thrown as a ``TableViolation`` that names the rule.
///
/// ```
/// var table = TableOracle(rows: films)
/// try table.apply(rowChanges(from: films, to: later), rows: later)
/// ```
public struct TableOracle<Row: Identifiable & Equatable> {
    /// What the cells show.
    public private(set) var cells: [Row]
    /// How many cells have been asked for.
    ///
    /// One for each row that was there first, that was inserted, reloaded or updated: a row that stays
    /// or moves keeps its own.
    public private(set) var cellsMade: Int

    /// A table that shows rows.
    public init(rows: some Sequence<Row>) {
        cells = Array(rows)
        cellsMade = cells.count
    }

    /// Shows rows without any batch, as reloading all data does.
    public mutating func reload(_ rows: some Sequence<Row>) { self = TableOracle(rows: rows) }

    /// Performs changes as a table view does: one batch, then the updates in place.
    ///
    /// - Parameters:
    ///   - changes: What the app says has changed.
    ///   - rows: What the data source says there is after the changes.
    /// - Throws: The rule that is broken; the table then shows what it showed before.
    public mutating func apply(
        _ changes: RowChanges,
        rows: some Collection<Row>
    ) throws(TableViolation) {
        var calls = changes.moves.map { TableOracleCall.move(from: $0.from, to: $0.to) }
        calls += changes.inserts.map { .insert($0) }
        // Last on purpose: the order of the calls must not matter.
        calls += changes.deletes.map { .delete($0) }
        var table = self
        try table.batch(calls, rows: rows)
        try table.update(changes.updates, rows: rows)
        try table.checkContents(rows)
        self = table
    }

    /// Performs a batch, and leaves contents that change in place to ``update(_:rows:)``.
    ///
    /// - Parameters:
    ///   - calls: What the app calls within the batch, in whatever order.
    ///   - rows: What the data source says there is after the batch.
    /// - Throws: The rule that is broken; the table then shows what it showed before.
    public mutating func batch(
        _ calls: [TableOracleCall],
        rows: some Collection<Row>
    ) throws(TableViolation) {
        let new = Array(rows)
        var leaving: [Int: TableOracleCall] = [:]
        var coming: [Int: Row?] = [:]
        for call in calls {
            try take(call, &leaving, &coming, count: new.count)
        }
        let deleted = leaving.values.count { if case .delete = $0 { true } else { false } }
        let inserted = coming.values.count { $0 == nil }
        guard cells.count + inserted - deleted == new.count else {
            throw .countMismatch(
                before: cells.count,
                inserted: inserted,
                deleted: deleted,
                after: new.count
            )
        }
        var staying = cells.indices.lazy
            .filter { if case .reload = leaving[$0] { true } else { leaving[$0] == nil } }
            .makeIterator()
        var after: [Row] = []
        var made = 0
        for (index, row) in new.enumerated() {
            if let arrival = coming[index] {
                after.append(arrival ?? row)
                if arrival == nil { made += 1 }
            } else if let old = staying.next() {
                let isReloaded = leaving[old] != nil
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

    /// Makes the contents of cells anew, in place, when no batch is going on.
    ///
    /// - Parameters:
    ///   - indices: Indices of the rows that are there now.
    ///   - rows: What the data source says there is.
    /// - Throws: ``TableViolation/wrongUpdate(new:count:)`` when an index is none, or comes twice.
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

    /// Looks whether the table shows exactly the rows.
    ///
    /// - Parameter rows: What the data source says there is.
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

    /// Notes what a call does with the rows before and after the batch.
    private func take(
        _ call: TableOracleCall,
        _ leaving: inout [Int: TableOracleCall],
        _ coming: inout [Int: Row?],
        count: Int
    ) throws(TableViolation) {
        switch call {
        case .delete(let old), .reload(let old), .move(from: let old, to: _):
            guard cells.indices.contains(old) else {
                throw .noSuchRow(call: call, count: cells.count)
            }
            if let other = leaving.updateValue(call, forKey: old) {
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
            guard coming.updateValue(row, forKey: new) == nil else { throw .filledTwice(new: new) }
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
