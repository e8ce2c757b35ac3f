import LiveCollections
import LiveRows
import LiveTables

@MainActor func liveTablesArticle() throws {
    struct Film: Identifiable, Equatable {
        let id: Int
        var title: String
    }

    final class PrintedTable: RowView {
        let isInWindow = true

        func reloadRows() { print("reload") }
        func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            takeRows()
            print(changes)
        }
        func updateRows(_ indices: [Int]) { print("update", indices) }
    }

    let films = try LiveList(rows: (1...3).map { Film(id: $0, title: "Film \($0)") })
    let table = PrintedTable()
    let binding = RowBinding(films, to: table)
    films.edit { editor in
        for id in 4...6 { editor.append(Film(id: id, title: "Film \(id)")) }
        editor.removeFirst(3)
    }
    print(binding.rows.map(\.title))
}
