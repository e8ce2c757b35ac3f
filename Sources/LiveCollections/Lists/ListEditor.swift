public import LiveRows

/// The operations of one edit, collected on the rows as it finds and leaves them.
public struct ListEditor<Row: LiveRow>: Sendable where Row.ID: Sendable {
    var tracked: TrackedRows<Row>
    /// What the edit has done so far; what changed nothing is not among it.
    public private(set) var operations: [ListOperation<Row>] = []
    private(set) var inverses: [ListOperation<Row>] = []

    /// The revision that the list must still have when the edit is committed; `nil` for any.
    ///
    /// Set it to the list's ``LiveList/revision`` in a form that must not overwrite what others
    /// have done meanwhile: then the edit is refused instead.
    public var ifRevision: UInt64?

    init(_ tracked: consuming TrackedRows<Row>) { self.tracked = tracked }

    /// The rows, with what the edit has done so far.
    public var rows: RowList<Row> { tracked.list }

    /// The row of an id, or `nil`.
    public func row(_ id: Row.ID) -> Row? { tracked.keyed[id] }

    /// Where the row of an id stands, or `nil`.
    public func index(of id: Row.ID) -> Int? { tracked.keyed.index(of: id) }

    // MARK: By ids

    /// Does an operation; what is said of a row that is not there does nothing.
    public mutating func apply(_ operation: ListOperation<Row>) {
        guard let inverse = tracked.apply(operation) else { return }
        operations.append(operation)
        inverses.append(inverse)
    }

    /// Puts a row behind another, or with `nil` first; one with the same id is replaced.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - anchor: The row before it.
    public mutating func put(_ row: Row, after anchor: Row.ID?) { apply(.put(row, after: anchor)) }

    /// Moves a row behind another, or with `nil` to the front.
    ///
    /// - Parameters:
    ///   - id: The row to move.
    ///   - anchor: The row before its new place.
    public mutating func move(_ id: Row.ID, after anchor: Row.ID?) {
        apply(.move(id, after: anchor))
    }

    /// Gives the row of the same id other contents.
    public mutating func update(_ row: Row) { apply(.update(row)) }

    /// Changes a row's contents.
    ///
    /// - Parameters:
    ///   - id: The row to change; without it nothing happens.
    ///   - body: Changes the row, but not its id.
    public mutating func update(_ id: Row.ID, _ body: (inout Row) -> Void) {
        guard var row = row(id) else { return }
        body(&row)
        precondition(row.id == id, "the id of a row cannot change: remove it and put another")
        apply(.update(row))
    }

    /// Removes a row.
    public mutating func remove(_ id: Row.ID) { apply(.remove(id)) }

    // MARK: By places

    /// Puts a row at the end.
    public mutating func append(_ row: Row) { insert(row, at: rows.count) }

    /// Puts a row at a place.
    ///
    /// - Parameters:
    ///   - row: The row; if there is one with its id, that is replaced and moved.
    ///   - index: The row's index afterwards, from zero; past the end it is the end.
    public mutating func insert(_ row: Row, at index: Int) {
        put(row, after: anchor(at: index, without: self.index(of: row.id)))
    }

    /// Moves a row to another place, as a table view says it.
    ///
    /// - Parameters:
    ///   - index: The row's index.
    ///   - target: Its index afterwards; past the end it is the end.
    public mutating func move(from index: Int, to target: Int) {
        guard rows.indices.contains(index) else { return }
        move(rows[index].id, after: anchor(at: target, without: index))
    }

    /// Removes the row of an index; if there is none, nothing happens.
    public mutating func remove(at index: Int) {
        guard rows.indices.contains(index) else { return }
        remove(rows[index].id)
    }

    /// Removes the first rows.
    ///
    /// - Parameter count: How many; if there are not as many, all.
    public mutating func removeFirst(_ count: Int = 1) {
        for row in rows.prefix(count) { remove(row.id) }
    }

    /// The row behind which a row comes to stand at an index, when it leaves its old place.
    private func anchor(at index: Int, without old: Int?) -> Row.ID? {
        let rest = rows.count - (old == nil ? 0 : 1)
        let before = min(index, rest) - 1
        guard before >= 0 else { return nil }
        guard let old, before >= old else { return rows[before].id }
        return rows[before + 1].id
    }
}
