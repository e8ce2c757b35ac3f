import Broker
import HTTP1
import HTTPServer
import Net
import PusherProtocol
import WebSocket

/// Where a client's upgrade becomes a connection, or a close code that says why not.
///
/// A client that may not come in is accepted first and refused after (Pusher protocol, "Connection"): a browser
/// cannot read the status of a refused upgrade, and would try again every second.
final class Gateway {
    private let core: ShardCore
    private let handshake: ServerHandshake
    /// The streams of clients that were refused.
    private let draining: DrainingStreams

    init(core: ShardCore, draining: DrainingStreams) {
        self.core = core
        self.draining = draining
        handshake = ServerHandshake(
            subprotocols: ["pusher-channels-protocol-7"],
            deflate: core.context.settings.deflate
        )
    }

    /// Refuses a request to upgrade that has content: nobody has proved a right to have it read.
    func refusalOfContent(_ head: RequestHead) -> Response {
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

    /// Answers a request to upgrade.
    func open(_ head: RequestHead, _ exchange: HTTPExchange) {
        do {
            let acceptance = try acceptance(of: head)
            exchange.upgrade { [self] stream, output in
                output.reserveCapacity(output.count + Self.greetingLength)
                acceptance.appendResponse(to: &output)
                return enter(stream, head, acceptance.deflate, &output)
            }
        } catch {
            exchange.respond(Response(refusal: error))
        }
    }

    /// Room for the answer to an upgrade and the first message behind it, in bytes: they leave together.
    private static var greetingLength: Int { 320 }

    /// Makes a connection of an upgraded stream, or says why it may not come in.
    private func enter(
        _ stream: Stream,
        _ head: RequestHead,
        _ deflate: NegotiatedDeflate?,
        _ output: inout [UInt8]
    ) -> any StreamDelegate {
        do {
            let (app, address) = try admission(head, stream)
            let endpoint = WebSocketEndpoint(
                role: .server,
                limits: core.context.settings.webSocketLimits,
                compression: deflate
            )
            let connection = Connection(
                socketID: core.connections.makeSocketID(),
                app: app,
                stream: stream,
                endpoint: endpoint,
                context: core.context
            )
            core.connections.admit(connection, from: address)
            connection.begin(&output)
            return connection
        } catch {
            if let limit = error.limit { core.context.limitMet(limit) }
            FrameEncoder.append(.text, to: &output) {
                ServerMessage.error(code: error.code, message: error.message).append(to: &$0)
            }
            output += FrameEncoder.close(error.code.closeCode, reason: error.message)
            return DrainingStream(in: draining, within: core.context.settings.refusalTimeout)
        }
    }

    /// The app that the client may connect to, and where the client comes from; a place in the app's quota is taken, but
    /// not for a time of probation.
    private func admission(
        _ head: RequestHead,
        _ stream: Stream
    ) throws(ConnectionRefusal) -> (App, ClientAddress?) {
        guard core.stage != .draining else { throw ConnectionRefusal(.reconnectImmediately) }
        guard let app = try app(head, stream) else { throw ConnectionRefusal(.appDoesNotExist) }
        guard stream.isSecure || !app.isTLSOnly else { throw ConnectionRefusal(.appOnlyTLS) }
        guard app.isEnabled else { throw ConnectionRefusal(.appDisabled) }
        try checkOrigin(head, app)
        try core.connections.checkQueues(of: app)
        let hasPlace = app.features.authorizationTimeout == nil
        guard !hasPlace || app.quota.take() else {
            throw ConnectionRefusal(.overConnectionQuota, meeting: .appConnections)
        }
        do throws(ConnectionRefusal) {
            let now = core.context.reactor.now.nanoseconds
            return (app, try core.context.settings.admissionControl.enter(stream, head, at: now))
        } catch {
            if hasPlace { app.quota.giveBack() }
            throw error
        }
    }

    /// The app whose key the client names, if it is served and the rest of the URL is right.
    private func app(_ head: RequestHead, _ stream: Stream) throws(ConnectionRefusal) -> App? {
        let settings = core.context.settings
        let registry = core.context.registry
        var app: App?
        do throws(PusherCode) {
            try head.withPathAndQuery { (target) throws(PusherCode) in
                app = try ConnectionURL.withKey(
                    inTarget: target,
                    pathPrefix: settings.pathPrefix
                ) { registry.apps[key: $0] }
                _ = try ConnectionURL.version(
                    inTarget: target,
                    isRequired: settings.requiresProtocolVersion
                )
            }
        } catch {
            // An app for TLS only says so before all else: its clients come back with TLS, and learn the rest then.
            let isOnlyTLSMissing = app?.isTLSOnly == true && !stream.isSecure
            throw ConnectionRefusal(isOnlyTLSMissing ? .appOnlyTLS : error)
        }
        return app
    }

    private func checkOrigin(_ head: RequestHead, _ app: App) throws(ConnectionRefusal) {
        guard !app.allowedOrigins.isEmpty,
            head.withField("origin", { app.admits(origin: $0) }) == false
        else { return }
        let origin = (head.field("origin") ?? "").prefix(200)
        throw ConnectionRefusal(
            .unauthorized,
            "Pages of \"\(origin)\" may not connect: they are none of the app's allowed origins"
        )
    }
}

extension PusherCode {
    /// The code as it stands in a close frame.
    var closeCode: CloseCode { CloseCode(rawValue: UInt16(rawValue)) }
}
