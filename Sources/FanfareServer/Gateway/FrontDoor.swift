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

    func idleConnectionClosed() { switchboard.met(.requestIdleTime) }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        // RFC 9110 §7.8: an offer of another protocol may be ignored. Some HTTP clients make one of HTTP/2 (h2c) with every
        // first request.
        if head.isUpgrade(to: "websocket") {
            gateway.open(head, exchange)
        } else {
            api.respond(to: head, body: body, on: exchange)
        }
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
