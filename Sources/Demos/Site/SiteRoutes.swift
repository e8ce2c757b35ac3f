import Foundation
package import HTTP1
package import HTTPServer

/// What the site answers: a function from a request to a response, with no socket in sight.
package struct SiteRoutes: Sendable {
    private struct Address: Hashable {
        let method: HTTP1.Method
        let path: String
    }

    private var actions: [Address: Route.Action] = [:]
    private var files: [String: SiteFile] = [:]
    private let pusherJS: String

    /// Gathers what the demos contribute, and what they share.
    ///
    /// - Parameters:
    ///   - demos: All that the site shows.
    ///   - backstage: What they work with.
    ///   - app: The app whose channels they use.
    ///   - broker: Where pages find the broker.
    /// - Throws: What a demo throws that cannot begin.
    package init(
        demos: [Demo],
        backstage: Backstage,
        app: SignedApp,
        broker: PublicBroker
    ) async throws {
        pusherJS = broker.pusherJS
        for file in SharedFiles.all { add(file, below: "/") }
        let config = SiteFile("config.json", Array(try JSONText.encode(broker).utf8))
        add(config, below: "/")
        let authorization = Authorization(
            key: app.key,
            secret: app.secret,
            channels: demos.flatMap(\.channels)
        )
        add(.post("/auth") { try authorization.answer($0) }, below: "/")
        for demo in demos {
            for file in demo.files { add(file, below: demo.path) }
            for route in try await demo.routes(backstage) { add(route, below: demo.path) }
        }
    }

    private mutating func add(_ file: SiteFile, below path: String) {
        let path = path + (file.name == "index.html" ? "" : file.name)
        precondition(files.updateValue(file, forKey: path) == nil, "two files at \(path)")
    }

    private mutating func add(_ route: Route, below path: String) {
        let path = route.path.hasPrefix("/") ? route.path : path + route.path
        let address = Address(method: route.method, path: path)
        precondition(
            actions.updateValue(route.action, forKey: address) == nil,
            "two routes at \(path)"
        )
    }

    /// Answers a request; whatever goes wrong becomes a JSON object with an `error`.
    package func answer(_ request: HTTPRequest) async -> Response {
        // The answer to HEAD is that to GET; its content is left out where it is written.
        let method = request.method == .head ? .get : request.method
        do throws(any Error) {
            if let action = actions[Address(method: method, path: request.path)] {
                return try await action(request)
            }
            if method == .get, let response = try page(request) { return response }
            throw RequestError.nothingHere(method: "\(request.method)", path: request.path)
        } catch let error as RequestError {
            return .refusing(error)
        } catch {
            // Not the caller's fault, and its text may not be the caller's business.
            return .failing(500, "The data cannot be read or changed just now.")
        }
    }

    private func page(_ request: HTTPRequest) throws -> Response? {
        // A browser gets the page; what asks for nothing in particular, the sign of life.
        if request.path == "/", !request.accepts("text/html") { return try .encoding("It works!") }
        if let file = files[request.path] {
            let isPusherJS = request.query["client"] == "pusher-js"
            return file.response(allowing: isPusherJS ? pusherJS : nil)
        }
        // Relative links of a page count from its slash.
        guard files[request.path + "/"] != nil else { return nil }
        let query = request.head.query.map { "?" + $0 } ?? ""
        return Response(status: 308, fields: [Field("Location", request.path + "/" + query)])
    }
}

extension HTTPRequest {
    /// Whether the client named this media type among those it wants.
    fileprivate func accepts(_ type: String) -> Bool {
        field("accept")?.lowercased().contains(type) ?? false
    }
}
