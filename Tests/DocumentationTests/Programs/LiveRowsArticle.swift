import LiveRows

func liveRowsArticle() throws {
    struct Film: Identifiable, Equatable {
        let id: Int
        var title: String
    }

    let films = (1...6).map { Film(id: $0, title: "Film \($0)") }
    let later = films.dropFirst(3) + [Film(id: 7, title: "Film 7"), films[0]]
    let changes = try rowChanges(from: films, to: Array(later))
    print(changes)  // -[1, 2] +[3] 0→4

    var rows = try KeyedRows(later)
    print(rows.apply(.move(7, after: nil)).changes)  // 3→0
}
