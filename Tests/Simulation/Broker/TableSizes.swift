/// The sizes of a broker's tables, summed over all shards, which must be 0 without connections.
package struct TableSizes: Equatable, CustomStringConvertible {
    private var rows: [(table: String, count: Int)] = []

    /// Adds to the size of a table.
    mutating func add(_ table: String, _ count: Int) {
        if let index = rows.firstIndex(where: { $0.table == table }) {
            rows[index].count += count
        } else {
            rows.append((table, count))
        }
    }

    /// The size of a table, summed over all shards.
    package subscript(table: String) -> Int { rows.first { $0.table == table }?.count ?? 0 }

    package static func == (left: TableSizes, right: TableSizes) -> Bool {
        left.rows.elementsEqual(right.rows) { $0 == $1 }
    }

    /// The tables that have grown.
    ///
    /// - Parameter before: The sizes before.
    /// - Returns: The names of the tables, with their growth.
    package func growth(since before: TableSizes) -> [(table: String, count: Int)] {
        zip(rows, before.rows).compactMap { now, before in
            now.count > before.count ? (now.table, now.count - before.count) : nil
        }
    }

    /// Every table that is not empty.
    package var description: String {
        rows.filter { $0.count != 0 }.map { "\($0.table): \($0.count)" }.joined(separator: ", ")
    }
}
