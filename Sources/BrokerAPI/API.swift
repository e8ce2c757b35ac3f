import Broker
package import HTTP1
package import HTTPServer
package import Net
package import Observability
import Primitives
import PusherProtocol
package import Shard

/// The broker's HTTP API on one shard: accepts or refuses requests by their heads.
///
/// Route, method, key, timestamp, signature, app and rate are checked before any of the body is read, so that a peer
/// that cannot sign takes up no memory.
package final class API {
    private let core: ShardCore
    private let traces: EventTraces?
    /// The prefix of every path, as ``SiteSettings/pathPrefix``.
    private let pathPrefix: String
    /// Whether requests of the console that show data of events are refused.
    private let hidesData: Bool
    /// The receiver of the request that was accepted last.
    ///
    /// Reused unless its body is still to come, so that almost no request allocates one. Exclusive access is not
    /// checked: nothing called during a change re-enters this object.
    @exclusivity(unchecked) private var last: APIRequest

    package init(
        core: ShardCore,
        _ traces: EventTraces?,
        pathPrefix: String,
        hidesData: Bool = false
    ) {
        self.core = core
        self.traces = traces
        self.pathPrefix = pathPrefix
        self.hidesData = hidesData
        last = APIRequest(core: core, traces)
    }

    /// Accepts a request that is signed and within its app's rates; refuses any other.
    package func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision {
        do throws(APIError) {
            return try check(head)
        } catch {
            return .answer(core.refuse(error, head, of: app(of: head), on: stream))
        }
    }

    /// Accepts a request of the console, which is not signed: the page's session has authenticated it.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - start: The index in the path where the API's own path begins.
    ///   - stream: The connection's stream.
    /// - Returns: The decision; the rates of the app apply.
    package func decideForConsole(
        on head: RequestHead,
        from start: Int,
        of stream: Stream?
    ) -> HTTPDecision {
        do throws(APIError) {
            guard let match = head.withPath({ Route.find($0, from: start) }),
                let id = match.app, let kind = match.route.kind
            else { throw APIError(status: 404, message: "Nothing is at \(head.path)") }
            let route = match.route
            guard route.methods.contains(head.method) else {
                let error = HTTPError.methodNotAllowed(head.method, allowed: route.methods)
                return .answer(Response(refusing: error))
            }
            let registry = core.context.registry
            guard let app = head.withPath({ registry.apps[id: $0.extracting(id)] }),
                app !== registry.consoleApp
            else { throw APIError(unknownApp: head.pathText(id)) }
            try allow(kind, of: app)
            let parameters = head.withQuery { QueryParameters(parsing: $0) }
            guard !hidesData || !route.showsData(head.method, parameters) else {
                let message = "The console shows no event data: console.payloads is false"
                throw APIError(status: 403, message: message)
            }
            return accept(
                APIRequest.Accepted(
                    app: app,
                    match: match,
                    parameters: parameters,
                    isSigned: false
                )
            )
        } catch {
            return .answer(core.refuse(error, head, of: nil, on: stream))
        }
    }

    private func accept(_ request: consuming APIRequest.Accepted) -> HTTPDecision {
        if !isKnownUniquelyReferenced(&last) { last = APIRequest(core: core, traces) }
        last.begin(request)
        return .accept(last)
    }

    private func check(_ head: RequestHead) throws(APIError) -> HTTPDecision {
        if head.targetForm == .asterisk {
            return .answer(.options(allowed: [.get, .head, .post, .delete, .options]))
        }
        guard let match = head.withPath({ match(of: $0) }) else {
            // Not reported: whoever looks for other servers asks for many paths.
            let error = APIError(
                status: 404,
                message: "Nothing is at \(head.path)\(prefixAdvice(head))"
            )
            return .answer(Response(refusal: error))
        }
        let route = match.route
        if head.method == .options {
            return .answer(.options(allowed: route.methods + [.options]))
        }
        guard route.methods.contains(head.method) else {
            let error = HTTPError.methodNotAllowed(head.method, allowed: route.methods)
            return .answer(Response(refusing: error))
        }
        if let status = route.status { return .answer(status(self)) }
        let parameters = head.withQuery { QueryParameters(parsing: $0) }
        let app = try authenticate(head, parameters, id: match.app)
        if let kind = route.kind { try allow(kind, of: app) }
        return accept(APIRequest.Accepted(app: app, match: match, parameters: parameters))
    }

    /// The answer to `GET /health`: 200 while the broker serves, 503 once it is stopping, or
    /// without Redis for some seconds, or when the file of `recovery.database` is no longer at its path.
    var health: Response {
        guard core.stage == .serving else { return .status("stopping", status: 503) }
        if let cluster = core.context.settings.cluster, cluster.isIsolated {
            var response = Response.status("isolated", status: 503)
            if let reason = cluster.lastFault { response.body += Array("\(reason)\n".utf8) }
            return response
        }
        let isMisplaced = core.context.archive?.isMisplaced == true
        return isMisplaced ? .status("archive file missing", status: 503) : .status("ok")
    }

    /// What a path that nothing is at has to do with `listen.path_prefix`; empty if nothing.
    private func prefixAdvice(_ head: RequestHead) -> String {
        guard pathPrefix.isEmpty else { return ": listen.path_prefix is \(pathPrefix)" }
        // Not of this API's paths, but below another.
        let parts = head.path.utf8.split(separator: UInt8(ascii: "/"))
        let isBelow = parts.dropFirst().contains { $0.elementsEqual("apps".utf8) }
        return isBelow && parts.first?.elementsEqual("apps".utf8) == false
            ? ": listen.path_prefix is none" : ""
    }

    private func match(of path: Span<UInt8>) -> Route.Match? {
        Route.find(path, from: path.starts(with: pathPrefix) ? pathPrefix.utf8.count : 0)
    }

    /// The app in the path of a refused request.
    private func app(of head: RequestHead) -> App? {
        head.withPath { path in
            match(of: path)?.app.flatMap { core.context.registry.apps[id: path.extracting($0)] }
        }
    }

    /// Returns the app that signed the request.
    private func authenticate(
        _ head: RequestHead,
        _ parameters: QueryParameters,
        id: Range<Int>?
    ) throws(APIError) -> App {
        let apps = core.context.registry.apps
        let app = try head.withPath { (path) throws(APIError) in
            var app = id.flatMap { apps[id: path.extracting($0)] }
            if let id, app == nil {
                throw APIError(unknownApp: head.pathText(id))
            }
            try RequestSignature.verifyHead(
                method: head.method.description,
                path: path,
                pathPrefix: pathPrefix,
                parameters: parameters,
                now: core.context.reactor.unixTime
            ) { key in
                if app == nil { app = apps[key: key] }
                if let secret = app?.secret(of: key) { return .app(secret) }
                return apps[key: key] == nil ? .unknown : .otherApp
            }
            return app
        }
        guard let app else { throw APIError(status: 401, message: "Unknown auth_key") }
        guard app.isEnabled else {
            throw APIError(status: 403, message: "App \(app.id) is disabled")
        }
        return app
    }

    /// Consumes one token of the app's request rates.
    private func allow(_ kind: RequestAllowance.Kind, of app: App) throws(APIError) {
        do throws(RequestAllowance.Refusal) {
            try app.requests.take(kind, at: core.context.reactor.now.nanoseconds)
        } catch {
            let requests =
                switch error.limit {
                case .triggerRate: "requests that trigger events"
                case .queryRate: "queries"
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

extension ShardCore {
    /// Counts the hit of the error's limit, if it has one, reports the refusal, and returns the response.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - head: The request.
    ///   - app: The app that has signed it, if that is known.
    ///   - stream: The backend's connection.
    /// - Returns: The response.
    func refuse(
        _ error: APIError,
        _ head: RequestHead,
        of app: App?,
        on stream: Stream?
    ) -> Response {
        if let limit = error.limit { context.limitMet(limit, of: app?.id) }
        context.refused(of: app?.id, refusal(error, head, stream))
        return Response(refusal: error)
    }

    private func refusal(_ error: APIError, _ head: RequestHead, _ stream: Stream?) -> Refusal {
        var refusal = Refusal(.request, reason: error.message)
        refusal.code = error.status
        refusal.request = "\(head.method) \(head.path)"
        refusal.address = context.settings.admissionControl
            .addressText(of: stream?.remoteAddress(), head)
        refusal.limit = error.limit
        if error.status == 401 || error.status == 404 {
            refusal.advice =
                "compare the backend's app ID, key and secret with apps.N; check its clock"
        }
        return refusal
    }
}

extension Response {
    /// The response to `GET /health` and `GET /live`: a word, and the version.
    static func status(_ word: String, status: Status = 200) -> Response {
        .text("\(word) (fanfare \(BrokerVersion.current))\n", status: status)
    }

    /// The response to a request that the API refuses: the status and one line of plain text.
    init(refusal: APIError) {
        self = .text("", status: Status(refusal.status))
        body = refusal.body
        if [429, 503].contains(refusal.status) { fields.append(Field("Retry-After", "1")) }
    }
}

extension RequestHead {
    /// The text of a range of the path.
    func pathText(_ range: Range<Int>) -> String {
        withPath { path in
            path.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
    }
}
