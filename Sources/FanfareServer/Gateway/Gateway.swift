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
    private let switchboard: Switchboard
    private let handshake: ServerHandshake

    init(switchboard: Switchboard) {
        self.switchboard = switchboard
        handshake = ServerHandshake(
            subprotocols: ["pusher-channels-protocol-7"],
            deflate: switchboard.settings.deflate
        )
    }

    /// Answers a request to upgrade.
    func open(_ head: RequestHead, _ exchange: HTTPExchange) {
        do {
            let acceptance = try handshake.accept(
                method: head.method.description,
                minorVersion: head.minorVersion
            ) { head.fields($0) }
            let entrance = Entrance(gateway: self, head: head, deflate: acceptance.deflate)
            exchange.upgrade(head: acceptance.response, to: entrance)
        } catch {
            exchange.respond(Response(refusal: error))
        }
    }

    /// Makes a connection of an upgraded stream, or says why it may not come in.
    fileprivate func enter(_ stream: Stream, _ head: RequestHead, _ deflate: NegotiatedDeflate?) {
        do {
            let app = try admission(head)
            let endpoint = WebSocketEndpoint(
                role: .server,
                limits: switchboard.settings.webSocketLimits,
                compression: deflate
            )
            let connection = Connection(
                socketID: switchboard.makeSocketID(),
                app: app,
                stream: stream,
                endpoint: endpoint,
                switchboard: switchboard
            )
            switchboard.admit(connection)
            stream.owner = connection
            connection.begin()
        } catch {
            refuse(stream, error)
        }
    }

    /// The app that the client may connect to; a place in its quota is taken.
    private func admission(_ head: RequestHead) throws(PusherCode) -> App {
        let settings = switchboard.settings
        guard !switchboard.isDraining else { throw .reconnectImmediately }
        let url = try head.withTarget { (target) throws(PusherCode) in
            try ConnectionURL(target: target, pathPrefix: settings.pathPrefix)
        }
        guard let app = settings.apps[key: url.key], let quota = settings.quotas[app.id] else {
            throw .appDoesNotExist
        }
        guard app.isEnabled else { throw .appDisabled }
        guard quota.take() else { throw .overConnectionQuota }
        guard settings.quota.take() else {
            quota.giveBack()
            throw .overCapacity
        }
        return app
    }

    private func refuse(_ stream: Stream, _ code: PusherCode) {
        stream.owner = Farewell()
        let error = ServerMessage.error(code: code, message: code.message).bytes
        stream.write(FrameEncoder.frame(.text, payload: error.span))
        stream.write(FrameEncoder.close(code.closeCode, reason: code.message))
        stream.close(within: switchboard.settings.farewellTimeout)
    }
}

/// What owns a stream between the answer to its upgrade and its first turn as a WebSocket.
private final class Entrance: StreamOwner {
    private let gateway: Gateway
    private let head: RequestHead
    private let deflate: NegotiatedDeflate?

    init(gateway: Gateway, head: RequestHead, deflate: NegotiatedDeflate?) {
        self.gateway = gateway
        self.head = head
        self.deflate = deflate
    }

    func streamOpened(_ stream: Stream) { gateway.enter(stream, head, deflate) }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { 0 }

    func streamClosed(_ stream: Stream, error: StreamError?) {}
}

extension PusherCode {
    /// The code as it stands in a close frame.
    var closeCode: CloseCode { CloseCode(rawValue: UInt16(rawValue)) }
}
