import HTTP1
import Net
import PusherProtocol
import Synchronization
import WebSocket

@testable import FanfareClient

/// A WebSocket server on a real port, controlled by a test.
actor ScriptedServer: LoopResident {
    /// An action of a client.
    enum Sign: Equatable {
        case connected(target: String)
        case said(ClientMessage)
        case closed(code: UInt16?)
        case gone
    }

    /// The behaviour towards the next clients.
    enum Manner: Sendable {
        /// Upgrades, sends a broker's first message, confirms every subscription, answers pings.
        case broker
        /// Upgrades, then sends nothing.
        case silent
        /// Answers the opening handshake with these bytes and closes the connection.
        case answers(String)
        /// Accepts the connection and does nothing else.
        case deaf
    }

    nonisolated private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private var clients: [ScriptedClient] = []
    private var isStopping = false
    nonisolated let signs: AsyncStream<Sign>.Continuation
    nonisolated private let signStream: AsyncStream<Sign>

    init() throws {
        loop = try EventLoop(name: "scripted")
        reactor = try Reactor(loop: loop)
        (signStream, signs) = AsyncStream.makeStream(of: Sign.self)
    }

    /// Starts a server on a free port of the loopback address.
    static func start(
        _ manner: Manner = .broker,
        tls: TLSContext? = nil
    ) async throws -> (ScriptedServer, port: UInt16) {
        let server = try ScriptedServer()
        try server.loop.start(server)
        return (server, try await server.listen(manner, tls))
    }

    private func listen(_ manner: Manner, _ tls: TLSContext?) throws -> UInt16 {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { return 0 }
        let listener = try reactor.listen(on: address, tls: tls) { stream, _ in
            let client = ScriptedClient(stream, manner, self.signs)
            self.clients.append(client)
            return client
        }
        return listener.address.port ?? 0
    }

    func turn() -> Bool {
        reactor.poll()
        reactor.flush()
        if isStopping { reactor.shutDown() }
        return !isStopping
    }

    func stop() {
        isStopping = true
        // This runs between two turns; the next one would block.
        loop.wake()
    }

    nonisolated func waitUntilStopped() async { await loop.waitUntilStopped() }

    /// Waits for the next action of a client.
    nonisolated func next() async -> Sign? {
        for await sign in signStream { return sign }
        return nil
    }

    /// Waits for a certain action of a client, and skips others.
    nonisolated func wait(for sign: Sign) async {
        for await next in signStream where next == sign { return }
    }

    /// Sends a message to every client.
    func send(_ message: ServerMessage) { sendText(message.bytes) }

    func sendText(_ text: [UInt8]) { send(FrameEncoder.frame(.text, payload: text.span)) }

    /// Sends bytes unchanged to every client.
    func send(_ bytes: [UInt8]) { for client in clients { client.stream.write(bytes) } }

    /// Sends each byte in its own packet.
    func sendSlowly(_ bytes: [UInt8]) async {
        for byte in bytes {
            send([byte])
            await Task.yield()
        }
    }

    /// Closes every client's connection with a code.
    func close(_ code: UInt16?, _ reason: String = "") {
        for client in clients { client.close(code.map(CloseCode.init(rawValue:)), reason) }
        clients = []
    }

    /// Keeps every client's connection, and neither reads its messages nor sends any.
    func swallow() {
        for client in clients { client.isSwallowing = true }
        clients = []
    }

    /// Aborts every client's connection.
    func cut() {
        for client in clients { client.stream.abort() }
        clients = []
    }
}

/// One connection at the server, on its loop.
private final class ScriptedClient: StreamDelegate {
    let stream: Net.Stream
    /// Whether everything that is received is dropped.
    var isSwallowing = false
    private let manner: ScriptedServer.Manner
    private let signs: AsyncStream<ScriptedServer.Sign>.Continuation?
    private var parser = RequestParser(limits: HTTPLimits())
    private var isUpgraded = false
    private var endpoint = WebSocketEndpoint(role: .server)

    init(
        _ stream: Net.Stream,
        _ manner: ScriptedServer.Manner,
        _ signs: AsyncStream<ScriptedServer.Sign>.Continuation?
    ) {
        self.stream = stream
        self.manner = manner
        self.signs = signs
    }

    func close(_ code: CloseCode?, _ reason: String) {
        if let frame = endpoint.close(code, reason: reason) { stream.write(frame) }
        stream.close(within: .seconds(5))
    }

    func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        if isSwallowing { return bytes.count }
        var position = 0
        if !isUpgraded {
            if case .deaf = manner { return bytes.count }
            position = upgrade(bytes.span)
            guard isUpgraded else { return position }
        }
        do {
            while let incoming = try endpoint.next(in: &bytes, at: &position) {
                take(incoming, in: bytes.span)
            }
        } catch {
            close(error.closeCode, error.description)
        }
        return position
    }

    func streamClosed(_ stream: Net.Stream, error: StreamError?) { signs?.yield(.gone) }

    private func upgrade(_ bytes: Span<UInt8>) -> Int {
        var index = 0
        guard case .head(let head) = try? parser.advance(over: bytes, from: &index) else {
            return index
        }
        if case .answers(let text) = manner {
            stream.write(Array(text.utf8))
            stream.close(within: .seconds(5))
            return bytes.count
        }
        do throws(HandshakeRefusal) {
            let acceptance = try ServerHandshake().accept(
                method: "GET",
                minorVersion: head.minorVersion,
                fields: head.fields
            )
            stream.write(acceptance.response)
            isUpgraded = true
            signs?.yield(.connected(target: head.target))
            if case .broker = manner {
                send(.connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 120))
            }
        } catch {
            stream.abort()
        }
        return index
    }

    private func take(_ incoming: Incoming, in bytes: Span<UInt8>) {
        switch incoming.kind {
        case .text:
            let text = incoming.payload(in: bytes)
            guard let message = try? ClientMessage.parse(text.span) else { return }
            signs?.yield(.said(message))
            guard case .broker = manner else { return }
            if case .subscribe(let channel, _, _, _) = message {
                send(.subscriptionSucceeded(channel: channel, data: "{}"))
            } else if case .ping = message {
                send(.pong)
            }
        case .close(let code):
            signs?.yield(.closed(code: code?.rawValue))
            if let frame = endpoint.answerClose() { stream.write(frame) }
            stream.close(within: .seconds(5))
        case .ping, .pong, .binary: break
        }
    }

    private func send(_ message: ServerMessage) {
        stream.write(FrameEncoder.frame(.text, payload: message.bytes.span))
    }
}
