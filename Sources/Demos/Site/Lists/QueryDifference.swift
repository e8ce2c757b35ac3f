import LiveRows

extension ListOperation where Row: ListRow {
    /// What leads from one result of a query to the next, with as few moves as possible.
    ///
    /// - Parameters:
    ///   - old: The rows before.
    ///   - new: The rows after.
    /// - Returns: The operations in the order in which they are to be applied; `nil` when an id occurs twice.
    static func leading(from old: [Row], to new: [Row]) -> [ListOperation]? {
        guard duplicateRow(in: new) == nil, let changes = try? rowChanges(from: old, to: new) else {
            return nil
        }
        let inserted = Set(changes.inserts)
        let moved = Set(changes.moves.map(\.to))
        let updated = Set(changes.updates)
        var operations = changes.deletes.map { ListOperation.remove(old[$0].id) }
        // From the first place to the last, so that each row finds the one before it where it is to be.
        for (index, row) in new.enumerated() {
            let predecessor = index > 0 ? new[index - 1].id : nil
            if inserted.contains(index) || moved.contains(index) && updated.contains(index) {
                operations.append(.put(row, after: predecessor))
            } else if moved.contains(index) {
                operations.append(.move(row.id, after: predecessor))
            } else if updated.contains(index) {
                operations.append(.update(row))
            }
        }
        return operations
    }
}
