/// Ordered rows that are found by their IDs and changed by operations.
///
/// An operation determines its changes, so no lists are compared. Its cost is that of finding the row in one piece of
/// the list, and hardly grows with the number of rows.
public struct KeyedRows<Row: Identifiable & Equatable> {
    /// The rows in order; if a copy of the list exists, the next operation copies only one piece.
    public private(set) var list = RowList<Row>()
    /// For each ID, the key of the row's piece.
    private var keys: [Row.ID: Int] = [:]
    /// For each key, the index of its piece; -1 for a free key.
    private var positions: [Int] = []
    private var freeKeys: [Int] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list of rows.
    ///
    /// - Parameter rows: The rows, in order.
    /// - Throws: ``DuplicateRow`` when two of them have the same ID.
    public init(_ rows: some Sequence<Row>) throws(DuplicateRow) {
        list = RowList(rows)
        positions = Array(list.pieces.indices)
        keys.reserveCapacity(list.count)
        for piece in list.pieces {
            for row in piece.rows where keys.updateValue(piece.key, forKey: row.id) != nil {
                throw LiveRows.duplicateRow(in: list)
                    ?? DuplicateRow(id: "\(row.id)", first: 0, second: 0)
            }
        }
    }

    /// The number of rows.
    public var count: Int { list.count }

    /// Whether there are no rows.
    public var isEmpty: Bool { list.isEmpty }

    /// Returns whether there is a row with an ID.
    public func contains(_ id: Row.ID) -> Bool { keys[id] != nil }

    /// The row with an ID, or `nil`.
    public subscript(id: Row.ID) -> Row? {
        location(of: id).map { list.pieces[$0.piece].rows[$0.offset] }
    }

    /// Returns the index of a row.
    ///
    /// - Parameter id: The row's ID.
    /// - Returns: The index from zero, or `nil` when there is no such row.
    public func index(of id: Row.ID) -> Int? {
        location(of: id).map { list.start(of: $0.piece) + $0.offset }
    }

    private func location(of id: Row.ID) -> (piece: Int, offset: Int)? {
        guard let key = keys[id] else { return nil }
        let piece = positions[key]
        return list.pieces[piece].rows.firstIndex { $0.id == id }.map { (piece, $0) }
    }

    // MARK: Operations

    /// The effect of an operation and the operation that reverts it.
    public struct Effect {
        /// The changes of the rows.
        public let changes: RowChanges
        /// The operation that restores the rows, if it is applied next; `nil` when nothing changed.
        public let inverse: ListOperation<Row>?
    }

    /// Applies an operation.
    ///
    /// - Parameter operation: The operation; it has no effect on a row that does not exist.
    /// - Returns: The changes, and the operation that reverts them.
    @discardableResult
    public mutating func apply(_ operation: ListOperation<Row>) -> Effect {
        switch operation {
        case .put(let row, let after): put(row, after: after)
        case .move(let id, let after): move(id, after: after)
        case .update(let row): update(row)
        case .set(let row, _):
            self[row.id].map { update(operation.contents(over: $0)) } ?? Self.nothing
        case .remove(let id): remove(id)
        }
    }

    private static var nothing: Effect { Effect(changes: RowChanges(), inverse: nil) }

    private mutating func put(_ row: Row, after anchor: Row.ID?) -> Effect {
        guard let index = index(of: row.id) else {
            let target = target(after: anchor, of: nil) ?? count
            insert(row, at: target)
            return Effect(changes: RowChanges(inserts: [target]), inverse: .remove(row.id))
        }
        let old = list[index]
        let predecessor = predecessor(of: index)
        let target = target(after: anchor, of: index) ?? (anchor == row.id ? index : count - 1)
        var changes = RowChanges()
        if target == index {
            guard old != row else { return Self.nothing }
            replace(row, at: index)
        } else {
            removeRow(at: index)
            insert(row, at: target)
            changes.moves = [RowChanges.Move(from: index, to: target)]
        }
        if old != row { changes.updates = [target] }
        return Effect(changes: changes, inverse: .put(old, after: predecessor))
    }

    private mutating func move(_ id: Row.ID, after anchor: Row.ID?) -> Effect {
        guard let index = index(of: id), let target = target(after: anchor, of: index),
            target != index
        else { return Self.nothing }
        let predecessor = predecessor(of: index)
        insert(removeRow(at: index), at: target)
        return Effect(
            changes: RowChanges(moves: [RowChanges.Move(from: index, to: target)]),
            inverse: .move(id, after: predecessor)
        )
    }

    private mutating func update(_ row: Row) -> Effect {
        guard let index = index(of: row.id), case let old = list[index], old != row else {
            return Self.nothing
        }
        replace(row, at: index)
        return Effect(changes: RowChanges(updates: [index]), inverse: .update(old))
    }

    private mutating func remove(_ id: Row.ID) -> Effect {
        guard let index = index(of: id) else { return Self.nothing }
        let predecessor = predecessor(of: index)
        let row = removeRow(at: index)
        return Effect(
            changes: RowChanges(deletes: [index]),
            inverse: .put(row, after: predecessor)
        )
    }

    /// Returns the index of a row after a move to the place after an anchor; `nil` if the anchor does not exist or is
    /// the row itself.
    private func target(after anchor: Row.ID?, of index: Int?) -> Int? {
        guard let anchor else { return 0 }
        guard let anchorIndex = self.index(of: anchor), anchorIndex != index else { return nil }
        guard let index, index < anchorIndex else { return anchorIndex + 1 }
        return anchorIndex
    }

    private func predecessor(of index: Int) -> Row.ID? { index == 0 ? nil : list[index - 1].id }

    // MARK: Pieces

    private mutating func replace(_ row: Row, at index: Int) {
        let location = list.location(of: index)
        list.pieces[location.piece].rows[location.offset] = row
    }

    private mutating func insert(_ row: Row, at index: Int) {
        guard !list.isEmpty else {
            list = RowList(CollectionOfOne(row))
            positions = [0]
            freeKeys = []
            keys = [row.id: 0]
            return
        }
        // A row between two pieces is appended to the first.
        var location = list.location(of: max(index - 1, 0))
        if index > 0 { location.offset += 1 }
        list.pieces[location.piece].rows.insert(row, at: location.offset)
        keys[row.id] = list.pieces[location.piece].key
        list.shiftEnds(from: location.piece, by: 1)
        if list.pieces[location.piece].rows.count > RowList<Row>.pieceCountMax {
            split(location.piece)
        }
    }

    @discardableResult
    private mutating func removeRow(at index: Int) -> Row {
        let location = list.location(of: index)
        let row = list.pieces[location.piece].rows.remove(at: location.offset)
        keys[row.id] = nil
        list.shiftEnds(from: location.piece, by: -1)
        let rest = list.pieces[location.piece].rows.count
        if rest == 0 {
            removePiece(location.piece)
        } else if rest < RowList<Row>.pieceCountMin {
            merge(location.piece)
        }
        return row
    }

    private mutating func split(_ position: Int) {
        let rows = list.pieces[position].rows
        let half = rows.count / 2
        let key = freeKeys.popLast() ?? positions.count
        if key == positions.count { positions.append(-1) }
        let upper = RowList<Row>.Piece(rows: ContiguousArray(rows[half...]), key: key)
        for row in upper.rows { keys[row.id] = key }
        list.pieces[position].rows.removeSubrange(half...)
        list.pieces.insert(upper, at: position + 1)
        list.ends.insert(list.start(of: position) + half, at: position)
        renumber(from: position + 1)
    }

    /// Merges a small piece with its neighbour, if the rows fit into one piece.
    private mutating func merge(_ position: Int) {
        let neighbour = position == 0 ? 1 : position - 1
        guard neighbour < list.pieces.count else { return }
        let rows = list.pieces[position].rows
        guard rows.count + list.pieces[neighbour].rows.count <= RowList<Row>.pieceCount else {
            return
        }
        for row in rows { keys[row.id] = list.pieces[neighbour].key }
        if neighbour < position {
            list.pieces[neighbour].rows += rows
            list.ends[neighbour] += rows.count
        } else {
            list.pieces[neighbour].rows.insert(contentsOf: rows, at: 0)
        }
        removePiece(position)
    }

    private mutating func removePiece(_ position: Int) {
        let key = list.pieces[position].key
        positions[key] = -1
        freeKeys.append(key)
        list.pieces.remove(at: position)
        list.ends.remove(at: position)
        renumber(from: position)
    }

    private mutating func renumber(from position: Int) {
        for index in position..<list.pieces.count { positions[list.pieces[index].key] = index }
    }
}

extension KeyedRows: Sendable where Row: Sendable, Row.ID: Sendable {}
extension KeyedRows.Effect: Sendable where Row: Sendable, Row.ID: Sendable {}
