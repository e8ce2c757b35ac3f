/// One of the demos: what it is called, where it lives on the site, and what it is made of.
///
///     extension Demo {
///         package static let greetings = Demo(
///             name: "Greetings",
///             path: "/greetings/",
///             files: [SiteFile("index.html", PackageResources.index_html)],
///             channels: ["presence-greetings"]
///         ) { backstage in
///             [.get("all") { _ in try .encoding(["Hello"]) }]
///         }
///     }
package struct Demo: Sendable {
    /// What people call it.
    package let name: String
    /// Where its page is; it begins and ends with a slash.
    package let path: String
    /// The files of its page; `index.html` is the page itself.
    package let files: [SiteFile]
    /// What it needs in the database, in the order in which it came to need it; never reordered.
    package let migrations: [Migration]
    /// The private and presence channels that its pages may join; an ending `*` stands for anything.
    package let channels: [String]
    /// Makes its routes, once, when the database is ready.
    package let routes: @Sendable (Backstage) async throws -> [Route]

    /// Describes a demo.
    ///
    /// - Parameters:
    ///   - name: What people call it.
    ///   - path: Where its page is, such as `/table/`.
    ///   - files: The files of its page; `index.html` is the page itself.
    ///   - migrations: What it needs in the database, oldest first.
    ///   - channels: The private and presence channels that its pages may join; an ending `*` stands for anything.
    ///   - routes: Makes its routes, once, when the database is ready. A path without a slash in front is below the
    ///     demo's own, one with a slash is the site's.
    package init(
        name: String,
        path: String,
        files: [SiteFile] = [],
        migrations: [Migration] = [],
        channels: [String] = [],
        routes: @escaping @Sendable (Backstage) async throws -> [Route] = { _ in [] }
    ) {
        precondition(path.hasPrefix("/") && path.hasSuffix("/"), "\(path) is not like /table/")
        self.name = name
        self.path = path
        self.files = files
        self.migrations = migrations
        self.channels = channels
        self.routes = routes
    }
}

extension [Demo] {
    /// What the demos and the site itself need in the database, in the order in which they run.
    package var migrations: [Migration] { [.lists] + flatMap(\.migrations) }
}
