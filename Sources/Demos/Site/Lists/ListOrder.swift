import LiveRows

/// The rows of a list while an edit is applied, without a database.
struct ListOrder<Row: ListRow> {
    private(set) var rows: [Row]
    /// The predecessor of each row that this edit has removed; `.some(nil)` for the first row.
    private(set) var removals: [Row.ID: Row.ID?] = [:]
    /// Returns the predecessor of a row that an earlier edit has removed; `nil` when it is unknown.
    private let predecessor: (Row.ID) throws -> Row.ID??

    init(_ rows: [Row], predecessor: @escaping (Row.ID) throws -> Row.ID??) {
        self.rows = rows
        self.predecessor = predecessor
    }

    var ids: [Row.ID] { rows.map(\.id) }

    /// The position that an anchor describes.
    private enum Position: Equatable {
        case behind(Row.ID?)
        case unknown
    }

    /// Applies one operation and returns it with its anchor resolved; `nil` if the row does not exist.
    mutating func apply(_ operation: ListOperation<Row>) throws -> ListOperation<Row>? {
        switch operation {
        case .put(let row, let anchor):
            let position = try resolve(anchor)
            let old = index(of: row.id)
            // A row that is its own anchor does not move.
            if let old, position == .behind(row.id) { return update(row, at: old) }
            if let old { rows.remove(at: old) }
            return .put(row, after: insert(row, position))
        case .move(let id, let anchor):
            guard let old = index(of: id) else { return nil }
            let position = try resolve(anchor)
            // A move without effect is still an operation, so that the client gets a confirmation.
            if position == .unknown || position == .behind(id) {
                return .move(id, after: rowBefore(old))
            }
            let row = rows.remove(at: old)
            return .move(id, after: insert(row, position))
        case .update(let row), .set(let row, _):
            return index(of: row.id).map { update(operation.contents(over: rows[$0]), at: $0) }
        case .remove(let id):
            guard let old = index(of: id) else { return nil }
            removals[id] = .some(rowBefore(old))
            rows.remove(at: old)
            return operation
        }
    }

    private mutating func update(_ row: Row, at index: Int) -> ListOperation<Row> {
        rows[index] = row
        return .update(row)
    }

    /// Inserts a row and returns the row before it.
    private mutating func insert(_ row: Row, _ position: Position) -> Row.ID? {
        let index =
            switch position {
            case .behind(nil): 0
            case .behind(let anchor?): index(of: anchor).map { $0 + 1 } ?? rows.count
            case .unknown: rows.count
            }
        rows.insert(row, at: index)
        return rowBefore(index)
    }

    private func index(of id: Row.ID) -> Int? { rows.firstIndex { $0.id == id } }

    private func rowBefore(_ index: Int) -> Row.ID? { index > 0 ? rows[index - 1].id : nil }

    /// Replaces a removed anchor by the nearest row before it that exists.
    private func resolve(_ anchor: Row.ID?) throws -> Position {
        var anchor = anchor
        var seen: Set<Row.ID> = []
        while let id = anchor {
            if index(of: id) != nil { return .behind(id) }
            guard seen.insert(id).inserted, let before = try removals[id] ?? predecessor(id) else {
                return .unknown
            }
            anchor = before
        }
        return .behind(nil)
    }
}
