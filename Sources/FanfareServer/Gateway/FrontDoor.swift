import HTTP1
import HTTPServer

/// Where every stream of a shard comes in: HTTP requests go to the API, upgrades to the gateway.
final class FrontDoor: HTTPResponder {
    private let gateway: Gateway
    private let api: API

    init(switchboard: Switchboard) {
        gateway = Gateway(switchboard: switchboard)
        api = API(switchboard: switchboard)
    }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        // RFC 9110 §7.8: an offer of another protocol may be ignored. Some HTTP clients make one of HTTP/2 (h2c) with every
        // first request.
        if head.isUpgrade, head.field("upgrade", contains: "websocket") {
            gateway.open(head, exchange)
        } else {
            api.respond(to: head, body: body, on: exchange)
        }
    }
}
