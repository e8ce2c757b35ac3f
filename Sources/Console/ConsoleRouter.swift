import Broker
import BrokerAPI
import BrowserClient
package import Gateway
package import HTTP1
package import HTTPServer
import Logging
package import Net
package import Observability
import Primitives
import PusherProtocol
package import Shard

/// Routes the requests of the console's page: its files, its sign-in, and the API on behalf of the apps.
package final class ConsoleRouter {
    private let console: BrokerConsole
    private let core: ShardCore
    private let pathPrefix: String
    private let api: API
    private let files: [String: BrowserFile]

    package init(
        _ console: BrokerConsole,
        _ core: ShardCore,
        _ settings: SiteSettings,
        _ traces: EventTraces?
    ) {
        self.console = console
        self.core = core
        pathPrefix = settings.pathPrefix
        api = API(
            core: core,
            traces,
            pathPrefix: settings.pathPrefix,
            hidesData: !console.feed.showsData
        )
        files = Dictionary(
            uniqueKeysWithValues: BrowserFile.console.map { ("/console/\($0.name)", $0) }
        )
    }

    /// The decision on a request; `nil` if it is not for the console.
    package func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision? {
        guard let start = start(of: head), isAdmitted(head) else { return nil }
        let path = String(head.path.dropFirst(start))
        if let file = files[path], file.isAsset { return .answer(answer(head, file)) }
        switch (head.method, path) {
        case (.get, "/"), (.head, "/"):
            let name = isSignedIn(head) ? "index.html" : "login.html"
            return files["/console/\(name)"].map { .answer(answer(head, $0)) }
        case (.post, "/console/login"):
            let page = files["/console/login.html"]
            return .accept(ConsoleRequest(.signIn, console, core.deferredAnswers, page))
        default: break
        }
        // Pages of other origins cannot add the field without being asked for permission, which nobody gives.
        guard head.field(Self.field) != nil else {
            return .answer(.text("Console requests need the field \(Self.field)\n", status: 403))
        }
        guard isSignedIn(head) else { return .answer(.text("Sign in\n", status: 401)) }
        return decideOnRequest(head, path, of: stream)
            ?? decideOnAPI(head, from: start + "/console".utf8.count, of: stream)
    }

    /// The decision on a request of a page that is signed in; `nil` for one to the API of an app.
    private func decideOnRequest(
        _ head: RequestHead,
        _ path: String,
        of stream: Stream?
    ) -> HTTPDecision? {
        let (answers, registry) = (core.deferredAnswers, core.context.registry)
        switch (head.method, path) {
        case (.get, "/console/session"):
            return .answer(.json(console.description(registry)))
        case (.get, "/console/samples"): return .answer(.json(console.samples.history))
        case (.post, "/console/authorize"):
            return .accept(ConsoleRequest(.authorize, console, answers))
        case (.post, "/console/logout"):
            let actor = console.actor(of: head, on: stream)
            console.log.info("console: signed out", metadata: actor.metadata)
            console.sessions?.signOut(head)
            return later {
                await $0.closeEndedPages()
                return .text("Signed out\n")
            }
        case (.get, "/console/connections"):
            let parameters = head.withQuery { QueryParameters(parsing: $0) }
            return later { await $0.connections(parameters) }
        case (.delete, _) where path.hasPrefix(Self.connectionPath):
            guard let socketID = SocketID(String(path.dropFirst(Self.connectionPath.count))) else {
                return .answer(.text("That is not a socket ID\n", status: 400))
            }
            let actor = console.actor(of: head, on: stream)
            return later { await $0.close(socketID, by: actor) }
        case (.get, "/console/webhooks"):
            return later { console in
                let reports = await console.endpointReports()
                return await console.withFile { console.webhooks(registry, reports) }
            }
        case (.post, "/console/webhooks/replay"):
            return .accept(ConsoleRequest(.replay, console, answers))
        case (.post, "/console/webhooks/delete"):
            return .accept(ConsoleRequest(.delete, console, answers))
        case (.get, "/console/limits"):
            let settings = core.context.settings
            return later { await $0.limits(registry, settings) }
        case (.get, "/console/configuration"): return .answer(console.configurationListing)
        default: return nil
        }
    }

    private static let connectionPath = "/console/connections/"

    /// Answers a request when the console has made the answer, on no loop's thread.
    private func later(
        _ make: @escaping @Sendable (BrokerConsole) async -> Response
    ) -> HTTPDecision {
        .accept(LaterAnswer(console, core.deferredAnswers, make))
    }

    /// A field that the page adds to its requests.
    private static let field = "X-Fanfare-Console"

    private func decideOnAPI(
        _ head: RequestHead,
        from start: Int,
        of stream: Stream?
    ) -> HTTPDecision {
        let decision = api.decideForConsole(on: head, from: start, of: stream)
        if head.method != .get, case .accept = decision {
            console.record(
                "request",
                [
                    "method": "\(head.method)", "path": "\(head.path.printable)",
                ],
                by: console.actor(of: head, on: stream)
            )
        }
        return decision
    }

    private func isSignedIn(_ head: RequestHead) -> Bool {
        console.sessions?.isSignedIn(head) ?? true
    }

    /// The index in the path behind the prefix; `nil` if the path is not the console's.
    private func start(of head: RequestHead) -> Int? {
        head.withPath { path in
            let start = path.starts(with: pathPrefix) ? pathPrefix.utf8.count : 0
            let rest = path.extracting(start...)
            return rest.equals("/") || rest.starts(with: "/console/" as StaticString) ? start : nil
        }
    }

    /// Whether a request may reach the page at all.
    ///
    /// Without a password it must come from this machine, and under a name of this machine: a page of another origin could
    /// let its own name resolve to 127.0.0.1.
    private func isAdmitted(_ head: RequestHead) -> Bool {
        guard console.isServed else { return false }
        guard console.isOpen else { return true }
        guard head.field("x-forwarded-for") == nil, head.field("forwarded") == nil,
            let authority = head.authority?.lowercased()
        else { return false }
        let name =
            authority.hasPrefix("[")
            ? String(authority.dropFirst().prefix { $0 != "]" })
            : String(authority.prefix { $0 != ":" })
        return name == "localhost" || SocketAddress(ip: name, port: 0)?.isLoopback == true
    }

    private func answer(_ head: RequestHead, _ file: BrowserFile) -> Response {
        guard [.get, .head].contains(head.method) else {
            return Response(refusing: .methodNotAllowed(head.method, allowed: [.get, .head]))
        }
        return Response(file, isCompressed: head.field("accept-encoding", contains: "gzip"))
    }
}

/// A request without content whose answer is made outside the loop.
private final class LaterAnswer: HTTPContentReceiver {
    private let console: BrokerConsole
    private let answers: DeferredAnswers
    private let make: @Sendable (BrokerConsole) async -> Response

    init(
        _ console: BrokerConsole,
        _ answers: DeferredAnswers,
        _ make: @escaping @Sendable (BrokerConsole) async -> Response
    ) {
        self.console = console
        self.answers = answers
        self.make = make
    }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        answers.answer(exchange.respond) { [console, make] in await make(console) }
    }
}

extension Response {
    /// The response with a file of the console: it loads nothing from elsewhere, and is in no frame.
    init(_ file: BrowserFile, isCompressed: Bool) {
        let policy =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        self.init(
            status: 200,
            fields: [
                Field("Content-Type", file.contentType), Field("Cache-Control", "no-store"),
                Field("Content-Security-Policy", policy), Field("Vary", "Accept-Encoding"),
                Field("X-Content-Type-Options", "nosniff"), Field("Referrer-Policy", "no-referrer"),
            ],
            body: isCompressed ? file.gzipped : file.bytes
        )
        if isCompressed { fields.append(Field("Content-Encoding", "gzip")) }
    }
}

extension BrowserFile {
    /// Whether it is a part of a page, which has no secrets and needs no session.
    fileprivate var isAsset: Bool { !name.hasSuffix(".html") }
}

/// The site of the console's own listener: its page, the browser client, and the WebSocket of its app.
final class ConsoleResponder: HTTPResponder {
    private let router: ConsoleRouter
    private let gateway: Gateway
    private let browserFiles: BrowserFiles
    private let socketPath: String

    init(
        _ console: BrokerConsole,
        _ core: ShardCore,
        _ settings: SiteSettings,
        _ traces: EventTraces?,
        draining: DrainingStreams
    ) {
        router = ConsoleRouter(console, core, settings, traces)
        gateway = Gateway(core: core, settings, draining: draining, servesPage: true)
        browserFiles = BrowserFiles(pathPrefix: settings.pathPrefix)
        socketPath = "\(settings.pathPrefix)/app/\(console.app.key)"
    }

    func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision {
        if head.isUpgrade(to: "websocket"), head.path == socketPath {
            return head.hasContent ? .answer(gateway.refusalOfContent(head)) : .accept(self)
        }
        return router.decide(on: head, of: stream) ?? browserFiles.decide(on: head)
            ?? .answer(.text("Nothing is here but the console, at /\n", status: 404))
    }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        gateway.open(head, exchange)
    }
}

extension ShardCore {
    /// Creates the site of the console's own listener.
    package func makeConsoleSite(
        _ settings: SiteSettings,
        _ console: BrokerConsole,
        _ traces: EventTraces
    ) -> HTTPSite {
        makeSite(settings) { draining in
            ConsoleResponder(console, self, settings, traces, draining: draining)
        }
    }
}
