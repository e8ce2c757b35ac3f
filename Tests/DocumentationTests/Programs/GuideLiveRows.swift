import LiveRows

func guideLiveRows() throws {
    struct Film: Identifiable, Equatable {
        let id: Int
        var title: String
    }

    let films = (1...6).map { Film(id: $0, title: "Film \($0)") }
    let later = films.dropFirst(3) + [Film(id: 7, title: "Film 7"), films[0]]
    print(try rowChanges(from: films, to: Array(later)))  // -[1, 2] +[3] 0→4
}
