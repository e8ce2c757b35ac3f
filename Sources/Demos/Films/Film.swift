import DemoSite
import GRDB
import HTTP1

/// A row of the list of films.
struct Film: ListRow {
    static let databaseTableName = "Films"
    /// The maximum length of a title, in characters.
    static let titleLengthMax = 100
    /// The valid years, beginning with the oldest known film.
    static let years = 1888...2100

    /// The ID, created by the client that adds the film; never reused.
    let id: Int64
    var title: String
    var year: Int

    func check() throws(RequestError) {
        try RequestError.check(title, "title", limit: Self.titleLengthMax)
        guard Self.years.contains(year) else {
            throw .refused(
                400,
                """
                The field year must be from \(Self.years.lowerBound) to \(Self.years.upperBound), \
                not \(year).
                """
            )
        }
    }

    /// The initial rows, to which the list can be reset.
    static let original = [
        Film(id: 1, title: "Metropolis", year: 1927), Film(id: 2, title: "City Lights", year: 1931),
        Film(id: 3, title: "Casablanca", year: 1942), Film(id: 4, title: "Rashomon", year: 1950),
        Film(id: 5, title: "Vertigo", year: 1958), Film(id: 6, title: "Alien", year: 1979),
    ]

    /// The table with its initial rows.
    static let migration = Migration("createFilms") { database in
        try database.execute(
            sql: """
                CREATE TABLE Films (
                    id INTEGER PRIMARY KEY,
                    title TEXT NOT NULL,
                    year INTEGER NOT NULL,
                    position INTEGER NOT NULL
                )
                """
        )
        for (index, film) in original.enumerated() {
            try database.execute(
                sql: "INSERT INTO Films VALUES (?, ?, ?, ?)",
                arguments: [film.id, film.title, film.year, index + 1]
            )
        }
    } down: { database in
        try database.execute(sql: "DROP TABLE Films")
    }
}
