import HTTP1
import Net

@testable import HTTPServer

/// A loop with a site whose ``Script`` answers by path.
actor TestServer: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated let port: UInt16
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let site: HTTPSite
    private let script: Script
    private var isStopping = false

    init(
        limits: HTTPLimits,
        timeouts: HTTPTimeouts,
        connectionsMax: Int,
        unansweredMax: Int,
        inboundBytesMax: Int
    ) throws {
        let loop = try EventLoop(name: "test")
        let reactor = try Reactor(loop: loop)
        reactor.inbound.byteCountMax = inboundBytesMax
        let script = Script()
        let site = HTTPSite(
            reactor: reactor,
            limits: limits,
            timeouts: timeouts,
            connectionsMax: connectionsMax,
            unansweredMax: unansweredMax,
            responder: script
        )
        script.site = site
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw PortMissing() }
        let listener = try reactor.listen(
            on: address,
            hasCapacity: site.hasCapacity,
            accept: site.accept
        )
        guard let port = listener.address.port else { throw PortMissing() }
        self.loop = loop
        self.port = port
        self.reactor = reactor
        self.site = site
        self.script = script
    }

    func turn() -> Bool {
        reactor.turn()
        if isStopping { reactor.shutDown() }
        return !isStopping
    }

    func stop() {
        isStopping = true
        // Jobs run between turns, so the next turn must not wait.
        loop.wake()
    }

    struct PortMissing: Error {}
}

/// Runs a test's client against a server of its own.
func withServer<Result: Sendable>(
    limits: HTTPLimits = HTTPLimits(),
    timeouts: HTTPTimeouts = HTTPTimeouts(),
    connectionsMax: Int = .max,
    unansweredMax: Int = 32,
    inboundBytesMax: Int = .max,
    _ body: @escaping @Sendable (_ port: UInt16) throws -> Result
) async throws -> Result {
    let server = try TestServer(
        limits: limits,
        timeouts: timeouts,
        connectionsMax: connectionsMax,
        unansweredMax: unansweredMax,
        inboundBytesMax: inboundBytesMax
    )
    try server.loop.start(server)
    let result: Swift.Result<Result, any Error>
    do {
        result = .success(try await blocking { try body(server.port) })
    } catch {
        result = .failure(error)
    }
    await server.stop()
    await server.loop.waitUntilStopped()
    return try result.get()
}

/// Answers by path, at once or later.
final class Script: HTTPResponder {
    weak var site: HTTPSite?
    /// The answers that wait for `/release`.
    private var kept: [() -> Void] = []
    /// An exchange that has been answered.
    private var answered: HTTPExchange?
    private var contentRefusedCount = 0

    func decide(on head: RequestHead, of stream: Stream?) -> HTTPDecision {
        if head.hasPath("/forbidden") { return .answer(.text("no entry", status: 403)) }
        return .accept(self)
    }

    func contentRefused() { contentRefusedCount += 1 }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        switch head.path {
        case "/echo":
            let text = body.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            exchange.respond(.text(text))
        case "/later":
            let query = head.query ?? ""
            kept.append { exchange.respond(.text("later \(query)")) }
        case "/release":
            // Its own answer first, then the others in reverse; the order of sending is not affected.
            exchange.respond(.text("released \(kept.count)"))
            let waiting = kept
            kept = []
            for settle in waiting.reversed() { settle() }
        case "/waiting": exchange.respond(.text("\(kept.count)"))
        case "/connections": exchange.respond(.text("\(site?.connectionCount ?? -1)"))
        case "/inbound": exchange.respond(.text("\(site?.reactor.inbound.byteCount ?? -1)"))
        case "/timers": exchange.respond(.text("\(site?.reactor.timerCount ?? -1)"))
        case "/refused": exchange.respond(.text("\(contentRefusedCount)"))
        case "/last":
            var response = Response.text("last")
            response.closesConnection = true
            exchange.respond(response)
        case "/large":
            exchange.respond(Response(status: 200, body: [UInt8](repeating: 0x61, count: 200_000)))
        case "/finish":
            site?.finish()
            exchange.respond(.text("finishing"))
        case "/upgrade": upgrade(exchange)
        case "/upgrade-refused":
            exchange.upgrade { [site] stream, output in
                guard let site else { return Shouter() }
                output += Array("HTTP/1.1 101 Shouting\r\n\r\nGo away.".utf8)
                return DrainingStream(in: site.draining, within: .seconds(60))
            }
        case "/upgrade-greeting":
            exchange.upgrade { _, output in
                output += Array("HTTP/1.1 101 Shouting\r\n\r\nWelcome, ".utf8)
                return Shouter()
            }
        case "/upgrade-later": kept.append { [self] in upgrade(exchange) }
        case "/no-upgrade-later": kept.append { exchange.respond(.text("no", status: 426)) }
        case "/twice":
            exchange.respond(.text("once"))
            exchange.respond(.text("twice"))
        case "/once":
            exchange.respond(.text("once"))
            answered = exchange
        case "/again":
            answered?.respond(.text("twice"))
            exchange.respond(.text("dropped"))
        default:
            exchange.respond(.text("\(head.method) \(head.target)"))
        }
    }

    private func upgrade(_ exchange: HTTPExchange) {
        exchange.upgrade(head: Array("HTTP/1.1 101 Shouting\r\n\r\n".utf8), to: Shouter())
    }
}

/// Another protocol: a greeting, then every byte in upper case.
final class Shouter: StreamDelegate {
    func streamOpened(_ stream: Stream) { stream.write(Array("HELLO;".utf8)) }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        let text = bytes.span.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        stream.write(Array(text.uppercased().utf8))
        return bytes.count
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
