import LiveRows

/// The rows of a list while an edit is applied to them, without a database in sight.
struct ListOrder<Row: ListRow> {
    private(set) var rows: [Row]
    /// The row that stood before each row that this edit has removed; `.some(nil)` for one that was first.
    private(set) var removals: [Row.ID: Row.ID?] = [:]
    /// What stood before a row that an earlier edit has removed; `nil` when that is not known any more.
    private let predecessor: (Row.ID) throws -> Row.ID??

    init(_ rows: [Row], predecessor: @escaping (Row.ID) throws -> Row.ID??) {
        self.rows = rows
        self.predecessor = predecessor
    }

    var ids: [Row.ID] { rows.map(\.id) }

    /// Where an anchor says that a row belongs.
    private enum Place: Equatable {
        case behind(Row.ID?)
        case unknown
    }

    /// Applies one operation.
    ///
    /// - Returns: What was done, its anchor resolved; `nil` when there was nothing to do it to.
    mutating func apply(_ operation: ListOperation<Row>) throws -> ListOperation<Row>? {
        switch operation {
        case .put(let row, let anchor):
            let place = try resolve(anchor)
            let old = index(of: row.id)
            // A row that is its own anchor stays where it is.
            if let old, place == .behind(row.id) { return update(row, at: old) }
            if let old { rows.remove(at: old) }
            return .put(row, after: insert(row, place))
        case .move(let id, let anchor):
            guard let old = index(of: id) else { return nil }
            let place = try resolve(anchor)
            // "Stay" is a move to where it is, so that who asked is answered.
            if place == .unknown || place == .behind(id) { return .move(id, after: rowBefore(old)) }
            let row = rows.remove(at: old)
            return .move(id, after: insert(row, place))
        case .update(let row):
            return index(of: row.id).map { update(row, at: $0) }
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

    /// Puts a row into its place, and returns the row that it now stands behind.
    private mutating func insert(_ row: Row, _ place: Place) -> Row.ID? {
        let index =
            switch place {
            case .behind(nil): 0
            case .behind(let anchor?): index(of: anchor).map { $0 + 1 } ?? rows.count
            case .unknown: rows.count
            }
        rows.insert(row, at: index)
        return rowBefore(index)
    }

    private func index(of id: Row.ID) -> Int? { rows.firstIndex { $0.id == id } }

    private func rowBefore(_ index: Int) -> Row.ID? { index > 0 ? rows[index - 1].id : nil }

    /// Follows an anchor that is gone to the nearest row before it that is still there.
    private func resolve(_ anchor: Row.ID?) throws -> Place {
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
