public import LiveRows

/// Collects the operations of one edit, and applies them to its own copy of the rows.
///
/// When the edit's closure has returned, the list applies the operations to its own rows, by ID. So the closure can
/// read the list, and can even edit it.
public struct ListEditor<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private var keyed: KeyedRows<Row>
    /// The operations of the edit so far; operations without effect are omitted.
    public private(set) var operations: [ListOperation<Row>] = []

    /// The revision that the list must have when the edit is committed; `nil` for any.
    ///
    /// Set it to the ``LiveList/revision`` that the user has seen, for example in a form. The edit is then refused if
    /// the list has changed since.
    public var ifRevision: UInt64?

    init(_ keyed: KeyedRows<Row>) { self.keyed = keyed }

    /// The rows, including the edit so far.
    public var rows: RowList<Row> { keyed.list }

    /// Returns the row with an ID, or `nil`.
    public func row(_ id: Row.ID) -> Row? { keyed[id] }

    /// Returns the index of the row with an ID, or `nil`.
    public func index(of id: Row.ID) -> Int? { keyed.index(of: id) }

    // MARK: By ID

    /// Applies an operation; it has no effect on a row that does not exist.
    public mutating func apply(_ operation: ListOperation<Row>) {
        if keyed.apply(operation).inverse != nil { operations.append(operation) }
    }

    /// Inserts a row after another, or first with `nil`; replaces a row with the same ID.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - anchor: The ID of the row before it.
    public mutating func put(_ row: Row, after anchor: Row.ID?) { apply(.put(row, after: anchor)) }

    /// Moves a row after another, or first with `nil`.
    ///
    /// - Parameters:
    ///   - id: The ID of the row to move.
    ///   - anchor: The ID of the row before its new position.
    public mutating func move(_ id: Row.ID, after anchor: Row.ID?) {
        apply(.move(id, after: anchor))
    }

    /// Replaces the contents of the row with the same ID.
    public mutating func update(_ row: Row) { apply(.update(row)) }

    /// Changes a row's contents.
    ///
    /// If the row is `Codable` and has a member `id`, the edit sets the members that the closure has changed
    /// (``ListOperation/set(_:members:)``): another user's edit of other members stays. Otherwise it replaces the whole
    /// contents, as ``update(_:)``. In both cases the last edit in the writer's order decides about a member that both
    /// have changed, unless ``ifRevision`` is set.
    ///
    /// - Parameters:
    ///   - id: The ID of the row; no effect if it does not exist.
    ///   - body: Changes the row, but not its ID.
    public mutating func update(_ id: Row.ID, _ body: (inout Row) -> Void) {
        guard let old = row(id) else { return }
        var row = old
        body(&row)
        guard row != old else { return }
        let changed = RowFields.names(from: old, to: row)
        precondition(row.id == id, "the id of a row cannot change: remove the row and put another")
        apply(changed.map { .set(row, members: $0) } ?? .update(row))
    }

    /// Removes a row.
    public mutating func remove(_ id: Row.ID) { apply(.remove(id)) }

    // MARK: By index

    /// Appends a row.
    public mutating func append(_ row: Row) { insert(row, at: rows.count) }

    /// Inserts a row at an index.
    ///
    /// - Parameters:
    ///   - row: The row; a row with the same ID is replaced and moved.
    ///   - index: The row's index afterwards, from zero; limited to the end.
    public mutating func insert(_ row: Row, at index: Int) {
        put(row, after: anchor(at: index, without: self.index(of: row.id)))
    }

    /// Moves a row to another index, with the indices of a table view.
    ///
    /// - Parameters:
    ///   - index: The row's index.
    ///   - target: Its index afterwards; limited to the end.
    public mutating func move(from index: Int, to target: Int) {
        guard rows.indices.contains(index) else { return }
        move(rows[index].id, after: anchor(at: target, without: index))
    }

    /// Removes the row at an index; no effect if it does not exist.
    public mutating func remove(at index: Int) {
        guard rows.indices.contains(index) else { return }
        remove(rows[index].id)
    }

    /// Removes the rows at some indices, as SwiftUI's `onDelete` gives them; indices without a row have no effect.
    ///
    /// All indices are those before the removal. Removing row by row would move those behind.
    public mutating func remove(atOffsets offsets: some Sequence<Int>) {
        for id in ids(at: offsets) { remove(id) }
    }

    /// Moves rows before another, as SwiftUI's `onMove` gives them; their order stays.
    ///
    /// - Parameters:
    ///   - offsets: The rows' indices; those without a row have no effect.
    ///   - target: The index of the row before which they come, before any is moved; the count of rows for the end.
    public mutating func move(fromOffsets offsets: some Sequence<Int>, toOffset target: Int) {
        let moved = ids(at: offsets)
        var anchor = rows.prefix(max(target, 0)).last { !moved.contains($0.id) }?.id
        for id in moved {
            move(id, after: anchor)
            anchor = id
        }
    }

    private func ids(at offsets: some Sequence<Int>) -> [Row.ID] {
        let rows = rows
        return offsets.compactMap { rows.indices.contains($0) ? rows[$0].id : nil }
    }

    /// Removes the first rows.
    ///
    /// - Parameter count: The number of rows, at most all.
    public mutating func removeFirst(_ count: Int = 1) {
        for row in rows.prefix(count) { remove(row.id) }
    }

    /// Returns the ID of the row before an index, not counting the row at its old index.
    private func anchor(at index: Int, without old: Int?) -> Row.ID? {
        let rest = rows.count - (old == nil ? 0 : 1)
        let before = min(index, rest) - 1
        guard before >= 0 else { return nil }
        guard let old, before >= old else { return rows[before].id }
        return rows[before + 1].id
    }
}
