package import GRDB
package import HTTP1
package import HTTPServer

/// A demo: its name, its path on the site, and its files, routes and migrations.
///
///     package enum Greetings {
///         package static let demo = Demo(
///             name: "Greetings",
///             path: "/greetings/",
///             files: [
///                 .page(
///                     title: "Greetings",
///                     purpose: "Everyone says hello.",
///                     script: "greetings.js",
///                     content: PackageResources.content_html
///                 ),
///                 SiteFile("greetings.js", PackageResources.greetings_js),
///             ],
///             channels: ["presence-greetings"]
///         ) { environment in
///             [.get("all") { _ in try .encoding(["Hello"]) }]
///         }
///     }
package struct Demo: Sendable {
    /// The name.
    package let name: String
    /// The path of its page; it begins and ends with a slash.
    package let path: String
    /// The files of its page, including the page itself.
    package let files: [SiteFile]
    /// Its migrations, oldest first; never reordered.
    package let migrations: [Migration]
    /// The private and presence channels that its pages may join; a trailing `*` matches any suffix.
    package let channels: [String]
    /// Returns the key of one of its encrypted channels, in base64, for the pages that may join it.
    package let sharedSecret: SharedSecret
    /// Creates its routes, once, when the database is ready.
    package let routes: @Sendable (DemoEnvironment) async throws -> [Route]

    /// Returns the key of an encrypted channel, in base64.
    package typealias SharedSecret =
        @Sendable (_ channel: String, DemoEnvironment) async throws -> String

    /// Creates a demo.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - path: The path of its page, such as `/table/`.
    ///   - files: The files of its page, including the page itself.
    ///   - migrations: Its migrations, oldest first.
    ///   - channels: The private and presence channels that its pages may join; a trailing `*` matches any suffix.
    ///   - routes: Creates its routes, once, when the database is ready. A path with a leading slash is absolute;
    ///     others are below the demo's path.
    ///   - sharedSecret: Returns the key of one of its encrypted channels; by default it has none.
    package init(
        name: String,
        path: String,
        files: [SiteFile] = [],
        migrations: [Migration] = [],
        channels: [String] = [],
        routes: @escaping @Sendable (DemoEnvironment) async throws -> [Route] = { _ in [] },
        sharedSecret: @escaping SharedSecret = { channel, _ in
            throw RequestError.refused(403, "There is no key of the channel \(channel).")
        }
    ) {
        precondition(path.hasPrefix("/") && path.hasSuffix("/"), "\(path) is not like /table/")
        self.name = name
        self.path = path
        self.files = files
        self.migrations = migrations
        self.channels = channels
        self.sharedSecret = sharedSecret
        self.routes = routes
    }

    /// Whether its pages may join a private or presence channel.
    func admits(_ channel: String) -> Bool {
        channels.contains { pattern in
            pattern.hasSuffix("*") ? channel.hasPrefix(pattern.dropLast()) : channel == pattern
        }
    }
}

extension [Demo] {
    /// The migrations of the site and the demos, in the order in which they run.
    package var migrations: [Migration] { [.lists] + flatMap(\.migrations) }
}

/// A route: a method, a path and an action.
package struct Route: Sendable {
    /// Returns the response to a request; a ``RequestError`` becomes an error response.
    package typealias Action = @Sendable (HTTPRequest) async throws -> Response

    let method: Method
    let path: String
    let action: Action

    /// Creates a route for GET, and for HEAD without the content; the path is below the demo's path, or absolute.
    package static func get(_ path: String, _ action: @escaping Action) -> Route {
        Route(method: .get, path: path, action: action)
    }

    /// Creates a route for POST; the path is below the demo's path, or absolute with a leading slash.
    package static func post(_ path: String, _ action: @escaping Action) -> Route {
        Route(method: .post, path: path, action: action)
    }
}

/// The environment of a demo: the shared database and the outbox to the broker.
package struct DemoEnvironment: Sendable {
    /// The migrated database.
    package let database: DatabaseQueue
    /// The events to publish.
    package let outbox: Outbox

    /// Creates an environment.
    package init(database: DatabaseQueue, outbox: Outbox) {
        self.database = database
        self.outbox = outbox
    }
}
