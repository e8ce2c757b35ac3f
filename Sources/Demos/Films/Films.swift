package import DemoSite
import LiveRows

/// A list of films that users edit in batches.
package enum Films {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "Films",
        path: "/films/",
        files: [
            .page(
                title: "Films",
                purpose: "Several rows change at once, on every screen.",
                style: "films.css",
                script: "films.js",
                content: PackageResources.content_html
            ),
            SiteFile("films.css", PackageResources.films_css),
            SiteFile("films.js", PackageResources.films_js),
            SiteFile("catalogue.js", PackageResources.catalogue_js),
        ],
        migrations: [Film.migration]
    ) { environment in
        let films = PublishedList<Film>(
            ListStore(environment.database, limits: limits),
            channel: "films",
            outbox: environment.outbox
        )
        let reset = Route.post("reset") { _ in
            let commit = try await films.commit(nil, resetOperations)
            return try .encoding(["revision": commit?.change.revision])
        }
        return films.routes(below: "rows") + [reset]
    }

    /// Few enough rows that a reset fits into one event.
    private static let limits = ListLimits(rowsMax: 60)

    /// Returns the batch from any rows to the initial ones.
    @Sendable private static func resetOperations(_ films: [Film]) -> [ListOperation<Film>] {
        let ids = Film.original.map(\.id)
        let removals = films.filter { !ids.contains($0.id) }.map {
            ListOperation<Film>.remove($0.id)
        }
        let puts = zip(Film.original, [nil] + ids).map { ListOperation.put($0, after: $1) }
        return removals + puts
    }
}
