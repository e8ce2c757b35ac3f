import Broker
import HTTP1
import HTTPServer
import Net
import PusherProtocol

/// The broker's HTTP API on one shard.
struct API {
    private let switchboard: Switchboard

    init(switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    /// Answers a request, now or when the homes of its channels have.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        do throws(APIError) {
            try answer(head, body, exchange)
        } catch {
            if let limit = error.limit { switchboard.met(limit) }
            exchange.respond(Response(refusal: error))
        }
    }

    private func answer(
        _ head: RequestHead,
        _ body: Span<UInt8>,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        if head.targetForm == .asterisk {
            return exchange.respond(.options(allowed: [.get, .head, .post, .options]))
        }
        guard let route = head.withPath({ route(of: $0) }) else {
            throw APIError(status: 404, message: "Nothing is at \(head.path)")
        }
        if head.method == .options {
            return exchange.respond(.options(allowed: route.methods + [.options]))
        }
        guard route.methods.contains(head.method) else {
            return exchange.respond(
                Response(refusing: .methodNotAllowed(head.method, allowed: route.methods))
            )
        }
        if route == .health { return exchange.respond(health) }
        let parameters = head.withQuery { QueryParameters(parsing: $0) }
        let app = try authenticate(head, parameters, body, id: route.app)
        if let kind = route.kind { try allow(kind, of: app) }
        switch route {
        case .events:
            try EventsAPI(app, switchboard).trigger(body, parameters, exchange)
        case .batchEvents:
            try EventsAPI(app, switchboard).triggerBatch(body, exchange)
        case .channels:
            try ChannelsAPI(app, switchboard).list(parameters, exchange)
        case .channel(_, let name):
            try ChannelsAPI(app, switchboard).describe(head.pathText(name), parameters, exchange)
        case .users(_, let channel):
            try ChannelsAPI(app, switchboard)
                .listUsers(head.pathText(channel), parameters, exchange)
        case .terminate(_, let user):
            try UsersAPI(app, switchboard).terminate(head.pathText(user), parameters, exchange)
        case .health: break
        }
    }

    /// Whether new clients should be sent here, in a word.
    private var health: Response {
        switchboard.stage == .serving
            ? .text("ok\n") : .text("stopping\n", status: 503)
    }

    private func route(of path: Span<UInt8>) -> Route? {
        let prefix = switchboard.settings.pathPrefix
        return Route(path: path, from: path.starts(with: prefix) ? prefix.utf8.count : 0)
    }

    /// The app that signed the request; `id` is where the path names it, `nil` if only the signature does.
    private func authenticate(
        _ head: RequestHead,
        _ parameters: QueryParameters,
        _ body: Span<UInt8>,
        id: Range<Int>?
    ) throws(APIError) -> App {
        let apps = switchboard.tenants.apps
        let app = try head.withPath { (path) throws(APIError) in
            var app = id.flatMap { apps[id: path.extracting($0)] }
            if let id, app == nil {
                throw APIError(status: 404, message: "No app has the ID \(head.pathText(id))")
            }
            try RequestSignature.verify(
                method: head.method.description,
                path: path,
                pathPrefix: switchboard.settings.pathPrefix,
                parameters: parameters,
                body: body,
                now: switchboard.reactor.unixTime
            ) { key in
                if app == nil { app = apps[key: key] }
                if let secret = app?.secret(of: key) { return .app(secret) }
                return apps[key: key] == nil ? .nobody : .otherApp
            }
            return app
        }
        guard let app else { throw APIError(status: 401, message: "Unknown auth_key") }
        guard app.isEnabled else {
            throw APIError(status: 403, message: "App \(app.id) is disabled")
        }
        return app
    }

    /// Takes a request of the app's, if it has any left.
    private func allow(_ kind: RequestAllowance.Kind, of app: App) throws(APIError) {
        do throws(RequestAllowance.Refusal) {
            try app.requests.take(kind, at: switchboard.reactor.now.nanoseconds)
        } catch {
            let requests =
                switch error.limit {
                case .triggerRate: "requests that trigger events"
                case .queryRate: "requests that ask"
                case .terminationRate: "requests that close a user's connections"
                default: "requests"
                }
            throw APIError(
                status: 429,
                message: "App \(app.id) may make \(error.rate.perSecond) \(requests) a second: "
                    + "try again in a second",
                limit: error.limit
            )
        }
    }
}

extension RequestHead {
    /// A part of the path as text.
    fileprivate func pathText(_ range: Range<Int>) -> String {
        withPath { path in
            path.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
    }
}
