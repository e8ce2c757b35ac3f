package import DemoSite
import HTTP1
import HTTPServer

extension Demo {
    /// To-dos on screens that are bound to queries.
    package static let toDo = Demo(
        name: "To-do",
        path: "/to-do/",
        files: [
            SiteFile("index.html", PackageResources.index_html),
            SiteFile("to-do.css", PackageResources.to_do_css),
            SiteFile("to-do.js", PackageResources.to_do_js),
            SiteFile("queries.js", PackageResources.queries_js),
            SiteFile("days.js", PackageResources.days_js),
            SiteFile("cell.js", PackageResources.cell_js),
        ],
        migrations: [.createToDos]
    ) { backstage in
        let store = ToDoStore(database: backstage.database)
        try store.beginRun()
        // Before the queries are made: what is written in between would be in no result.
        let others = try OtherWriters(backstage.database)
        let open = PublishedQuery<ToDo>(channel: "to-do-open", outbox: backstage.outbox)
        open.follow(backstage.database) {
            .init(version: try ToDo.version($0), rows: try ToDo.open($0))
        }
        let done = PublishedQuery<ToDo>(channel: "to-do-done", outbox: backstage.outbox)
        done.follow(backstage.database) {
            .init(version: try ToDo.version($0), rows: try ToDo.done($0))
        }
        return routes("open", open, store) + routes("done", done, store) + [
            // For who keeps a copy.
            .get("rows") { _ in
                // What other processes write is noticed as long as somebody can ask.
                try withExtendedLifetime(others) { try .encoding(try store.everything()) }
            },
            .post("rows/operations") { request in
                let edit = try request.decode(ToDoEdit.self)
                return try .encoding(["version": try store.commit(edit)])
            },
        ]
    }

    /// The snapshot of a query, and the way to write; the answer has the query's revision that shows what was written.
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
