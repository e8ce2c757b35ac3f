import Broker
package import HTTP1
package import HTTPServer
import Net
import Primitives
import PusherProtocol
package import Shard
import WebSocket

/// Upgrades clients to WebSocket, and closes those that are refused with a code.
///
/// A client that is refused is first upgraded and then closed (Pusher protocol, "Connection"): a browser cannot read
/// the status of a refused upgrade, and would try again every second.
package final class Gateway {
    let core: ShardCore
    let settings: SiteSettings
    private let handshake: ServerHandshake
    /// The streams of clients that were refused.
    private let draining: DrainingStreams
    private let deflaters: SharedDeflaters
    /// Whether the console's page may connect here.
    private let servesPage: Bool

    package init(
        core: ShardCore,
        _ settings: SiteSettings,
        draining: DrainingStreams,
        servesPage: Bool
    ) {
        self.core = core
        self.settings = settings
        self.servesPage = servesPage
        self.draining = draining
        deflaters = SharedDeflaters(options: settings.deflate)
        handshake = ServerHandshake(
            subprotocols: ["pusher-channels-protocol-7"],
            deflate: settings.deflate
        )
    }

    /// The response to an upgrade request with content, which is not read before the client has authenticated.
    package func refusalOfContent(_ head: RequestHead) -> Response {
        do {
            _ = try acceptance(of: head)
            return .text("A WebSocket handshake has no content\n", status: 400)
        } catch {
            return Response(refusal: error)
        }
    }

    private func acceptance(
        of head: RequestHead
    ) throws(HandshakeRefusal) -> ServerHandshake.Acceptance {
        try handshake.accept(
            method: head.method.description,
            minorVersion: head.minorVersion
        ) { head.forEachField($0) }
    }

    /// Answers an upgrade request.
    package func open(_ head: RequestHead, _ exchange: HTTPExchange) {
        do {
            let acceptance = try acceptance(of: head)
            exchange.upgrade { [self, peer = exchange.peer] stream, output in
                output.reserveCapacity(output.count + Self.greetingLength)
                acceptance.appendResponse(to: &output)
                let request = ConnectionRequest(
                    head: head,
                    peer: peer,
                    isSecure: stream.isSecure,
                    pathPrefix: settings.pathPrefix
                )
                return makeDelegate(of: stream, request, acceptance.deflate, &output)
            }
        } catch {
            exchange.respond(Response(refusal: error))
        }
    }

    /// The size of the answer to an upgrade and the first message, in bytes: they are sent together.
    private static var greetingLength: Int { 320 }

    /// Returns the connection of an upgraded stream; for a refused client, writes the close code and returns a draining
    /// stream.
    private func makeDelegate(
        of stream: Stream,
        _ request: ConnectionRequest,
        _ deflate: NegotiatedDeflate?,
        _ output: inout [UInt8]
    ) -> any StreamDelegate {
        do {
            var transport: WebSocketTransport?
            let greetings = try connect(request) { _ in
                let made = WebSocketTransport(
                    stream,
                    WebSocketEndpoint(
                        role: .server,
                        limits: settings.webSocketLimits,
                        compression: deflate
                    ),
                    deflaters: deflaters
                )
                transport = made
                return made
            }
            guard let transport else { preconditionFailure("a connection has a transport") }
            for greeting in greetings { transport.append(greeting, to: &output) }
            return transport
        } catch {
            FrameEncoder.append(.text, to: &output) {
                ServerMessage.error(code: error.code, message: error.message).append(to: &$0)
            }
            output += FrameEncoder.close(error.code.closeCode, reason: error.message)
            return DrainingStream(in: draining, within: core.context.settings.refusalTimeout)
        }
    }

    /// Admits a client and creates its connection.
    ///
    /// - Parameters:
    ///   - request: The client's request.
    ///   - makeTransport: Makes what carries the connection, once the client is admitted.
    /// - Returns: The first messages to the client, to be sent before any other.
    /// - Throws: Why the client is refused; it is reported to the observers.
    func connect(
        _ request: ConnectionRequest,
        over makeTransport: (App) throws(ConnectionRefusal) -> any CarryingTransport
    ) throws(ConnectionRefusal) -> [ServerMessage] {
        do throws(ConnectionRefusal) {
            let (app, address) = try admit(request)
            let transport: any CarryingTransport
            do throws(ConnectionRefusal) {
                transport = try makeTransport(app)
            } catch {
                withdraw(address, app)
                throw error
            }
            let (token, fault) = token(of: request, app)
            let connection = Connection(
                socketID: core.connections.makeSocketID(),
                app: app,
                transport: transport,
                token: token,
                clientName: request.head.withTarget {
                    core.context.clientNames.index(inTarget: $0)
                },
                addressDigest: app.recovery.isEnabled
                    ? core.context.settings.admissionControl
                        .addressDigest(of: request.peer, request.head) : 0,
                context: core.context
            )
            transport.carry(connection)
            core.connections.add(connection, from: address, shownAddress: shownAddress(of: request))
            report(connection, request)
            var greetings = [connection.greeting(receipts: request.wantsReceipts)]
            if let fault {
                let message = "\(fault). This connection has no recovery"
                greetings.append(.error(code: nil, message: message))
            }
            return greetings
        } catch {
            if let limit = error.limit {
                core.context.limitMet(limit, of: (try? app(request))?.id)
            }
            report(error, request)
            throw error
        }
    }

    /// Admits a client and returns its app and address; counts it towards the app's quota, unless it has to be
    /// authorized first.
    private func admit(
        _ request: ConnectionRequest
    ) throws(ConnectionRefusal) -> (App, ClientAddress?) {
        guard core.stage != .draining else { throw ConnectionRefusal(.reconnectImmediately) }
        let found = try app(request)
        let isPage = found != nil && found === core.context.registry.consoleApp
        // The page shows this node alone, and is needed most while the others are away.
        guard isPage || core.context.settings.cluster?.isClosed != true else {
            throw ConnectionRefusal(
                .overCapacity,
                "The broker cannot reach the other nodes at present"
            )
        }
        guard let app = found, !isPage || servesPage else {
            throw ConnectionRefusal(.appDoesNotExist)
        }
        guard request.isSecure || !app.isTLSOnly else { throw ConnectionRefusal(.appOnlyTLS) }
        guard app.isEnabled else { throw ConnectionRefusal(.appDisabled) }
        try checkOrigin(request.head, app)
        try core.connections.checkQueues(of: app)
        guard !countsTowardsQuota(app) || app.quota.take() else {
            throw ConnectionRefusal(.overConnectionQuota, meeting: .appConnections)
        }
        do throws(ConnectionRefusal) {
            let now = core.context.reactor.now.nanoseconds
            let address = try core.context.settings.admissionControl
                .admit(request.peer, request.head, at: now)
            return (app, address)
        } catch {
            if countsTowardsQuota(app) { app.quota.giveBack() }
            throw error
        }
    }

    private func countsTowardsQuota(_ app: App) -> Bool {
        app.features.authorizationDeadline == nil
    }

    /// Gives back what was counted for an admitted client that gets no connection after all.
    private func withdraw(_ address: ClientAddress?, _ app: App) {
        core.context.settings.admissionControl.release(address)
        if countsTowardsQuota(app) { app.quota.giveBack() }
    }

    /// Returns the app of the key in the URL; `nil` if there is none.
    private func app(_ request: ConnectionRequest) throws(ConnectionRefusal) -> App? {
        let registry = core.context.registry
        var app: App?
        do throws(PusherCode) {
            app = try request.withKey { registry.apps[key: $0] }
            _ = try request.version(isRequired: settings.requiresProtocolVersion)
        } catch {
            // A missing TLS is reported before other errors: official clients then reconnect with TLS.
            let isOnlyTLSMissing = app?.isTLSOnly == true && !request.isSecure
            if isOnlyTLSMissing { throw ConnectionRefusal(.appOnlyTLS) }
            guard error == .pathNotFound else { throw ConnectionRefusal(error) }
            let prefix = settings.pathPrefix
            throw ConnectionRefusal(
                error,
                "\(error.message): \(request.head.shownPath) is not \(prefix)/app/KEY "
                    + "(listen.path_prefix is \(prefix.isEmpty ? "none" : prefix))"
            )
        }
        return app
    }

    /// The session token in the URL, or what is wrong with it.
    private func token(
        of request: ConnectionRequest,
        _ app: App
    ) -> (SessionToken?, SessionTokenError?) {
        guard app.recovery.isEnabled else { return (nil, nil) }
        do throws(SessionTokenError) {
            return (try request.sessionToken(), nil)
        } catch {
            return (nil, error)
        }
    }

    private func checkOrigin(_ head: RequestHead, _ app: App) throws(ConnectionRefusal) {
        guard !app.allowedOrigins.isEmpty,
            head.withField("origin", { app.admits(origin: $0) }) == false
        else { return }
        let origin = String((head.field("origin") ?? "").unicodeScalars.prefix(200))
        throw ConnectionRefusal(
            .unauthorized,
            "The origin \"\(origin)\" may not connect: it is not among the app's allowed origins"
        )
    }
}

/// What observers get to know.
extension Gateway {
    private func report(_ connection: Connection, _ request: ConnectionRequest) {
        let context = core.context
        context.notify(
            .admissions,
            of: connection.app.id,
            .admitted(
                connection.socketID,
                ClientPeer(
                    address: context.settings.admissionControl
                        .addressText(of: request.peer, request.head),
                    library: context.clientNames[connection.clientName],
                    isSecure: request.isSecure
                )
            )
        )
    }

    /// The address that the console shows in place of the peer's: of a client behind a trusted proxy.
    private func shownAddress(of request: ConnectionRequest) -> String? {
        guard request.head.isForwarded, core.context.registry.consoleApp != nil else {
            return nil
        }
        return core.context.settings.admissionControl.addressText(of: request.peer, request.head)
    }

    private func report(_ error: ConnectionRefusal, _ request: ConnectionRequest) {
        // Nothing is wrong with a client that comes while the broker stops.
        guard error.code != .reconnectImmediately else { return }
        core.context.refused(of: nil, refusal(error, request))
    }

    private func refusal(_ error: ConnectionRefusal, _ request: ConnectionRequest) -> Refusal {
        let context = core.context
        var refusal = Refusal(.connection, reason: error.message)
        refusal.code = error.code.rawValue
        refusal.address = context.settings.admissionControl
            .addressText(of: request.peer, request.head)
        refusal.limit = error.limit
        switch error.code {
        case .appDoesNotExist:
            refusal.advice = "connect with the key of an app (apps.N.key)"
            refusal.unknownKey = try? request.withKey { $0.string() }
        case .appDisabled: refusal.advice = "set apps.N.enabled to true, unless this is intended"
        case .pathNotFound:
            refusal.advice =
                "connect to \(settings.pathPrefix)/app/KEY; "
                + "a proxy must keep listen.path_prefix"
        case .unauthorized: refusal.advice = "add it to apps.N.allowed_origins"
        default: break
        }
        return refusal
    }
}

extension Response {
    /// The response to an invalid upgrade request (RFC 6455 §4.2.2).
    init(refusal: HandshakeRefusal) {
        self = .text(refusal.description + "\n", status: Status(refusal.status))
        fields += refusal.fields.filter { $0.name != "Connection" }.map { Field($0.name, $0.value) }
    }
}

extension RequestHead {
    /// The path for a refusal: its first 80 bytes, without a session token.
    fileprivate var shownPath: String {
        var shown: [UInt8] = []
        var isToken = false
        let parts = path.utf8.prefix(80)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index > 0 { shown.append(UInt8(ascii: "/")) }
            shown += isToken ? Array("…".utf8) : Array(part)
            isToken = part.elementsEqual("r".utf8)
        }
        return String(decoding: shown, as: UTF8.self) + (path.utf8.count > 80 ? "…" : "")
    }
}

extension PusherCode {
    /// The code as it is sent in a close frame.
    var closeCode: CloseCode { CloseCode(rawValue: UInt16(rawValue)) }
}
