import Foundation
package import HTTP1
package import HTTPServer

/// The routes of the site: a function from a request to a response, without sockets.
package struct SiteRoutes: Sendable {
    private struct Address: Hashable {
        let method: HTTP1.Method
        let path: String
    }

    private var actions: [Address: Route.Action] = [:]
    private var files: [String: SiteFile] = [:]
    private let broker: PublicBroker

    /// Collects the files and routes of the site and the demos; throws the error of a demo that fails to start.
    package init(
        demos: [Demo],
        environment: DemoEnvironment,
        app: SignedApp,
        broker: PublicBroker
    ) async throws {
        self.broker = broker
        for file in SharedFiles.all { add(file, below: "/") }
        let config = SiteFile("config.json", Array(try JSONText.encode(broker).utf8))
        add(config, below: "/")
        let authorization = Authorization(
            key: app.key,
            secret: app.secret,
            demos: demos,
            environment: environment
        )
        add(.post("/auth") { try await authorization.answer($0) }, below: "/")
        for demo in demos {
            for file in demo.files { add(file, below: demo.path) }
            for route in try await demo.routes(environment) { add(route, below: demo.path) }
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

    /// Answers a request; errors become a JSON object with `error`.
    package func answer(_ request: HTTPRequest) async -> Response {
        // HEAD is answered like GET; the server omits the content.
        let method = request.method == .head ? .get : request.method
        do throws(any Error) {
            if let action = actions[Address(method: method, path: request.path)] {
                return try await action(request)
            }
            if method == .get, let response = try page(request) { return response }
            throw RequestError.noRoute(method: "\(request.method)", path: request.path)
        } catch let error as RequestError {
            return .refusing(error)
        } catch {
            // An internal error, whose text is not for the client.
            return .failing(500, "The data cannot be read or changed at the moment.")
        }
    }

    private func page(_ request: HTTPRequest) throws -> Response? {
        // A browser gets the page. Other clients get a short description, which also serves as a health check.
        if request.path == "/", !request.accepts("text/html") {
            let host = request.field("host") ?? "this address"
            return .text("These are the demos of Fanfare: open http://\(host)/ in a browser.\n")
        }
        if let file = files[request.path] {
            let isPusherJS = request.query["client"] == "pusher-js"
            let scripts = [
                broker.origin(besides: request.field("host")), isPusherJS ? broker.pusherJS : nil,
            ]
            return file.response(allowing: scripts.compactMap(\.self))
        }
        // Redirects to the trailing slash, on which a page's relative links depend.
        guard files[request.path + "/"] != nil else { return nil }
        let query = request.head.query.map { "?" + $0 } ?? ""
        return Response(status: 308, fields: [Field("Location", request.path + "/" + query)])
    }
}

extension HTTPRequest {
    /// Whether the client accepts this media type.
    fileprivate func accepts(_ type: String) -> Bool {
        field("accept")?.lowercased().contains(type) ?? false
    }
}
