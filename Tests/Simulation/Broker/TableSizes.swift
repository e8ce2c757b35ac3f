/// How much a broker holds, table by table, all shards together: what must be nothing when everybody has gone.
package struct TableSizes: Equatable, CustomStringConvertible {
    private var rows: [(table: String, count: Int)] = []

    /// Notes how much is in a table, beside what other shards have in theirs.
    mutating func note(_ table: String, _ count: Int) {
        if let index = rows.firstIndex(where: { $0.table == table }) {
            rows[index].count += count
        } else {
            rows.append((table, count))
        }
    }

    /// How much is in a table, all shards together.
    package subscript(table: String) -> Int { rows.first { $0.table == table }?.count ?? 0 }

    package static func == (left: TableSizes, right: TableSizes) -> Bool {
        left.rows.elementsEqual(right.rows) { $0 == $1 }
    }

    /// The tables in which something is that was not there before.
    ///
    /// - Parameter before: What was there.
    /// - Returns: The names of the tables, and by how much each has grown.
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
