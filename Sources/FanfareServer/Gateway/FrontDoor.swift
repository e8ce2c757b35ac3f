import HTTP1
import HTTPServer
import Net
import PusherProtocol

/// Where every stream of a shard comes in: HTTP requests go to the API, upgrades to the gateway.
final class FrontDoor: HTTPResponder {
    private let gateway: Gateway
    private let api: API
    private let switchboard: Switchboard

    init(switchboard: Switchboard, draining: DrainingStreams) {
        gateway = Gateway(switchboard: switchboard, draining: draining)
        api = API(switchboard: switchboard)
        self.switchboard = switchboard
    }

    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {
        if let limit = error.limit(whileWaitingFor: wait) { switchboard.met(limit) }
    }

    func failed(_ error: StreamError) {
        switch error {
        case .handshakeTimedOut: switchboard.met(.tlsHandshakeTime)
        case .overflow: switchboard.met(.queuedBytes)
        case .overdrawn: switchboard.met(.queuedBytesTotal)
        default: break
        }
    }

    func connectionDisplaced() { switchboard.met(.handshakes) }

    func contentRefused() { switchboard.met(.inboundBytes) }

    func idleConnectionClosed() { switchboard.met(.requestIdleTime) }

    func decide(on head: RequestHead) -> HTTPDecision {
        // RFC 9110 §7.8: an offer of another protocol may be ignored. Some HTTP clients make one of HTTP/2 (h2c) with every
        // first request.
        guard head.isUpgrade(to: "websocket") else { return api.decide(on: head) }
        return head.hasContent ? .answer(gateway.refusalOfContent(head)) : .accept(self)
    }

    /// Opens a WebSocket: every other request has a receiver of its own, or its answer already.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        gateway.open(head, exchange)
    }
}

extension Switchboard {
    /// Where the shard's streams come in, with the limits of its settings.
    func makeSite() -> HTTPSite {
        let draining = DrainingStreams()
        return HTTPSite(
            reactor: reactor,
            limits: settings.httpLimits,
            timeouts: settings.httpTimeouts,
            connectionsMax: settings.handshakesMax,
            draining: draining,
            responder: FrontDoor(switchboard: self, draining: draining)
        )
    }
}

extension HTTPError {
    /// The limit that is met, if that is what is wrong.
    fileprivate func limit(whileWaitingFor wait: HTTPConnection.Wait) -> Limit? {
        switch self {
        case .requestLineTooLong, .fieldsTooMany, .fieldsTooLong: .requestHeadLength
        case .contentTooLong, .chunkExtensionsTooLong: .requestBodyLength
        case .timedOut: wait == .body ? .requestBodyTime : .requestHeadTime
        default: nil
        }
    }
}
