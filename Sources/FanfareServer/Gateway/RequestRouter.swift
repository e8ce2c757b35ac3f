import HTTP1
import HTTPServer
import Net
import PusherProtocol

/// Where every stream of a shard comes in: HTTP requests go to the API, upgrades to the gateway.
final class RequestRouter: HTTPResponder {
    private let gateway: Gateway
    private let api: API
    private let core: ShardCore

    init(core: ShardCore, draining: DrainingStreams) {
        gateway = Gateway(core: core, draining: draining)
        api = API(core: core)
        self.core = core
    }

    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {
        if let limit = error.limit(whileWaitingFor: wait) { core.met(limit) }
    }

    func failed(_ error: StreamError) {
        switch error {
        case .handshakeTimedOut: core.met(.tlsHandshakeTime)
        case .overflow: core.met(.queuedBytes)
        case .memoryBudgetExceeded: core.met(.queuedBytesTotal)
        default: break
        }
    }

    func connectionEvicted() { core.met(.handshakes) }

    func contentRefused() { core.met(.inboundBytes) }

    func idleConnectionClosed() { core.met(.requestIdleTime) }

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

extension ShardCore {
    /// Where the shard's streams come in, with the limits of its settings.
    func makeSite() -> HTTPSite {
        let draining = DrainingStreams()
        return HTTPSite(
            reactor: reactor,
            limits: settings.httpLimits,
            timeouts: settings.httpTimeouts,
            connectionsMax: settings.handshakesMax,
            draining: draining,
            responder: RequestRouter(core: self, draining: draining)
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
