package import DemoSite
import LiveRows

extension Demo {
    /// A list of films that grows and shrinks in batches.
    package static let films = Demo(
        name: "Films",
        path: "/films/",
        files: [
            SiteFile("index.html", PackageResources.index_html),
            SiteFile("films.css", PackageResources.films_css),
            SiteFile("films.js", PackageResources.films_js),
            SiteFile("catalogue.js", PackageResources.catalogue_js),
        ],
        migrations: [.createFilms]
    ) { backstage in
        let films = PublishedList<Film>(
            ListStore(backstage.database, limits: limits),
            channel: "films",
            outbox: backstage.outbox
        )
        let reset = Route.post("reset") { _ in
            let commit = try await films.commit(nil, leadingToOriginal)
            return try .encoding(["revision": commit?.change.revision])
        }
        return films.routes(below: "rows") + [reset]
    }

    /// Few enough that going back to the beginning fits into one event.
    private static let limits = ListLimits(rowsMax: 60)

    /// One batch that leads from any rows to those of the beginning.
    @Sendable private static func leadingToOriginal(_ films: [Film]) -> [ListOperation<Film>] {
        let ids = Film.original.map(\.id)
        let removals = films.filter { !ids.contains($0.id) }.map {
            ListOperation<Film>.remove($0.id)
        }
        let puts = zip(Film.original, [nil] + ids).map { ListOperation.put($0, after: $1) }
        return removals + puts
    }
}
