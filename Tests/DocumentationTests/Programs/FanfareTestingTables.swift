import FanfareTesting
import LiveRows

func fanfareTestingTables() throws {
    struct Film: Identifiable, Equatable {
        let id: Int
        var title: String
    }

    let films = (1...6).map { Film(id: $0, title: "Film \($0)") }
    let later = films.dropFirst(3) + [Film(id: 7, title: "Film 7"), films[0]]
    var table = TableOracle(rows: films)
    try table.apply(try rowChanges(from: films, to: Array(later)), rows: later)
    print(table.cellsMade)  // 7: only the new row has created a cell
}
