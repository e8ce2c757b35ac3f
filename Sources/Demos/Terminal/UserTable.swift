/// The rows as the backend has them, changed by its events.
///
/// A row is found by its id; an index only says where it goes. A change that was applied before, because the list was
/// loaded after it, changes nothing.
struct UserTable: Equatable {
    struct Row: Equatable, Decodable {
        var id: Int
        var name: String
    }

    private(set) var rows: [Row] = []

    /// What the events `addUser`, `removeUser` and `moveUser` carry.
    enum Change: Equatable {
        case add(Row)
        case remove(id: Int)
        case move(id: Int, index: Int)
    }

    /// Takes the list as the backend has it now.
    mutating func replace(with rows: [Row]) { self.rows = rows }

    /// Applies one change.
    mutating func apply(_ change: Change) {
        switch change {
        case .add(let row):
            if !rows.contains(where: { $0.id == row.id }) { rows.append(row) }
        case .remove(let id):
            rows.removeAll { $0.id == id }
        case .move(let id, let index):
            guard let source = rows.firstIndex(where: { $0.id == id }) else { return }
            let row = rows.remove(at: source)
            rows.insert(row, at: min(max(index, 0), rows.count))
        }
    }
}
