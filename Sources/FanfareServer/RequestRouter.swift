import Broker
import BrokerAPI
import Console
package import Gateway
import HTTP1
package import HTTPServer
import Net
import Observability
import PusherProtocol
import Shard

/// Routes the requests of a shard: HTTP requests to the API and the browser files, upgrades to the gateway.
final class RequestRouter: HTTPResponder {
    private let gateway: Gateway
    private let httpSessions: HTTPSessions
    private let api: API
    private let browserFiles: BrowserFiles
    /// The console at this port; `nil` unless the broker is one for development.
    private let console: ConsoleRouter?
    private let core: ShardCore

    init(
        core: ShardCore,
        _ settings: SiteSettings,
        _ console: BrokerConsole?,
        _ traces: EventTraces?,
        draining: DrainingStreams
    ) {
        let openConsole = console.flatMap { $0.isOpen ? $0 : nil }
        self.console = openConsole.map { ConsoleRouter($0, core, settings, traces) }
        gateway = Gateway(
            core: core,
            settings,
            draining: draining,
            servesPage: openConsole != nil
        )
        httpSessions = HTTPSessions(gateway, handovers: settings.handovers)
        api = API(core: core, traces, pathPrefix: settings.pathPrefix)
        browserFiles = BrowserFiles(pathPrefix: settings.pathPrefix)
        self.core = core
    }

    func refused(_ error: HTTPError, whileWaitingFor wait: HTTPConnection.Wait) {
        if let limit = error.limit(whileWaitingFor: wait) { core.context.limitMet(limit) }
    }

    func advice(on error: HTTPError) -> String? {
        guard case .contentTooLong = error else { return nil }
        return "The limit is \(Limit.requestBodyLength.rule.key) in the broker's configuration"
    }

    func failed(_ error: StreamError) {
        switch error {
        case .handshakeTimedOut: core.context.limitMet(.tlsHandshakeTime)
        case .overflow: core.context.limitMet(.queuedBytes)
        case .memoryBudgetExceeded: core.context.limitMet(.queuedBytesTotal)
        default: break
        }
    }

    func mistookProtocol(_ mistake: ProtocolMistake, on stream: Stream) {
        core.context.refused(of: nil, Refusal(mistake, on: stream))
    }

    func connectionEvicted() { core.context.limitMet(.handshakes) }

    func contentRefused() { core.context.limitMet(.inboundBytes) }

    func answerTimedOut() { core.context.limitMet(.answerTime) }

    func idleConnectionClosed() { core.context.limitMet(.requestIdleTime) }

    func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision {
        if head.isUpgrade(to: "websocket") {
            return head.hasContent ? .answer(gateway.refusalOfContent(head)) : .accept(self)
        }
        // RFC 9110 §7.8: an upgrade to another protocol may be ignored. Some HTTP clients offer HTTP/2 (h2c) with every
        // first request. The console and the browser files return `nil` for what is not theirs.
        return console?.decide(on: head, of: stream) ?? browserFiles.decide(on: head)
            ?? httpSessions.decide(on: head) ?? api.decide(on: head, of: stream)
    }

    /// Opens a WebSocket; all other requests have receivers of their own, or are answered by `decide(on:of:)`.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        gateway.open(head, exchange)
    }
}

extension ShardCore {
    /// Creates the HTTP site of the shard's streams, without console and traces.
    package func makeSite(_ settings: SiteSettings) -> HTTPSite { makeSite(settings, nil, nil) }

    /// Creates the HTTP site of the shard's streams.
    func makeSite(
        _ settings: SiteSettings,
        _ console: BrokerConsole?,
        _ traces: EventTraces?
    ) -> HTTPSite {
        makeSite(settings, [Field("Fanfare-Version", BrokerVersion.current)]) { draining in
            RequestRouter(core: self, settings, console, traces, draining: draining)
        }
    }
}

extension Refusal {
    /// The refusal of a peer that mistakes a port with TLS for one without, or the reverse.
    fileprivate init(_ mistake: ProtocolMistake, on stream: Stream) {
        switch mistake {
        case .tlsOnPlainPort:
            self.init(.connection, reason: "TLS on a port without TLS (listen.port)")
            advice = "use http:// or ws://, or the port of tls.port"
        case .plainOnTLSPort:
            self.init(.connection, reason: "HTTP without TLS on a TLS port (tls.port)")
            advice = "use https:// or wss://, or the port of listen.port"
        }
        address = stream.remoteAddress().map { "\($0)" }
    }
}

extension HTTPError {
    /// The limit that is reached, if that is the error.
    fileprivate func limit(whileWaitingFor wait: HTTPConnection.Wait) -> Limit? {
        switch self {
        case .requestLineTooLong, .fieldsTooMany, .fieldsTooLong: .requestHeadLength
        case .contentTooLong, .chunkExtensionsTooLong: .requestBodyLength
        case .timedOut: wait == .body ? .requestBodyTime : .requestHeadTime
        default: nil
        }
    }
}
