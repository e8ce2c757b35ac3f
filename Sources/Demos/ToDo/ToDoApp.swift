package import DemoSite
import HTTP1
import HTTPServer

/// To-dos, with screens that are bound to queries.
package enum ToDoApp {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "To-do",
        path: "/to-do/",
        files: [
            .page(
                title: "To-do",
                purpose: "What is to be done, on every screen.",
                style: "to-do.css",
                script: "to-do.js",
                content: PackageResources.content_html
            ),
            SiteFile("to-do.css", PackageResources.to_do_css),
            SiteFile("to-do.js", PackageResources.to_do_js),
            SiteFile("queries.js", PackageResources.queries_js),
            SiteFile("days.js", PackageResources.days_js),
            SiteFile("cell.js", PackageResources.cell_js),
        ],
        migrations: [ToDo.migration]
    ) { environment in
        let store = ToDoStore(database: environment.database)
        try store.beginRun()
        // Before the first query, so that no write in between is missed.
        let monitor = try ExternalChangeMonitor(environment.database)
        let open = PublishedQuery<ToDo>(channel: "to-do-open", outbox: environment.outbox)
        open.follow(environment.database) {
            .init(version: try ToDo.version($0), rows: try ToDo.open($0))
        }
        let done = PublishedQuery<ToDo>(channel: "to-do-done", outbox: environment.outbox)
        done.follow(environment.database) {
            .init(version: try ToDo.version($0), rows: try ToDo.done($0))
        }
        return routes("open", open, store) + routes("done", done, store) + [
            // For clients with a local copy.
            .get("rows") { _ in
                // Watches for writes of other processes as long as the route exists.
                try withExtendedLifetime(monitor) { try .encoding(try store.everything()) }
            },
            .post("rows/operations") { request in
                let edit = try request.decode(ToDoEdit.self)
                return try .encoding(["version": try store.commit(edit)])
            },
        ]
    }

    /// Returns the routes of a query: its snapshot, and commits, which return the revision that contains the commit.
    private static func routes(
        _ base: String,
        _ query: PublishedQuery<ToDo>,
        _ store: ToDoStore
    ) -> [Route] {
        [
            .get(base) { _ in try .encoding(try await query.snapshot()) },
            .post("\(base)/operations") { request in
                let version = try store.commit(try request.decode(ToDoEdit.self))
                return try .encoding(["revision": await query.revision(with: version)])
            },
        ]
    }
}
