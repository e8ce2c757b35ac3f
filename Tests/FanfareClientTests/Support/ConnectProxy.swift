import HTTP1
import Net

/// An HTTP proxy on a real port that opens tunnels to ports of this machine.
actor ConnectProxy: LoopResident {
    /// The behaviour of the proxy.
    enum Manner: Sendable {
        /// Opens a tunnel; requires this value of the field Proxy-Authorization, if set.
        case tunnels(authorization: String? = nil)
        /// Answers with these bytes and keeps the connection.
        case answers(String)
        /// Answers with these bytes and closes the connection.
        case ends(String)
        /// Accepts the connection and sends nothing.
        case deaf
    }

    nonisolated private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let manner: Manner
    private var isStopping = false
    /// The requests: `CONNECT host:port`.
    nonisolated let requests: AsyncStream<String>
    private let asked: AsyncStream<String>.Continuation

    private init(_ manner: Manner) throws {
        self.manner = manner
        loop = try EventLoop(name: "proxy")
        reactor = try Reactor(loop: loop)
        (requests, asked) = AsyncStream.makeStream(of: String.self)
    }

    /// Starts a proxy on a free port of the loopback address.
    static func start(
        _ manner: Manner = .tunnels()
    ) async throws -> (ConnectProxy, port: UInt16) {
        let proxy = try ConnectProxy(manner)
        try proxy.loop.start(proxy)
        return (proxy, try await proxy.listen())
    }

    private func listen() throws -> UInt16 {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { return 0 }
        let listener = try reactor.listen(on: address) { stream, _ in
            ProxyConnection(stream, self.manner, self.reactor, self.asked)
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
        // This runs between two turns, and the next one would wait.
        loop.wake()
    }

    nonisolated func waitUntilStopped() async { await loop.waitUntilStopped() }
}

/// The client's side of a tunnel, on the proxy's loop.
private final class ProxyConnection: StreamDelegate {
    private let stream: Net.Stream
    private let manner: ConnectProxy.Manner
    private let reactor: Reactor
    private let asked: AsyncStream<String>.Continuation
    private var parser = RequestParser(limits: HTTPLimits())

    init(
        _ stream: Net.Stream,
        _ manner: ConnectProxy.Manner,
        _ reactor: Reactor,
        _ asked: AsyncStream<String>.Continuation
    ) {
        self.stream = stream
        self.manner = manner
        self.reactor = reactor
        self.asked = asked
    }

    func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var index = 0
        guard case .head(let head)? = try? parser.advance(over: bytes.span, from: &index) else {
            return index
        }
        asked.yield("\(head.method) \(head.target)")
        switch manner {
        case .answers(let text): stream.write(Array(text.utf8))
        case .ends(let text):
            stream.write(Array(text.utf8))
            stream.close(within: .seconds(5))
        case .tunnels(let authorization?) where head.field("proxy-authorization") != authorization:
            stream.write(
                Array("HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=\"test\"\r\n\r\n".utf8)
            )
        case .tunnels: openTunnel(to: head)
        case .deaf: break
        }
        return index
    }

    private func openTunnel(to head: RequestHead) {
        guard let port = head.authority?.split(separator: ":").last.flatMap({ UInt16($0) }),
            let address = SocketAddress(ip: "127.0.0.1", port: port),
            let far = try? reactor.connect(to: address, timeout: .seconds(5), delegate: self)
        else { return stream.abort() }
        let near = stream
        near.delegate = TunnelEnd(other: far)
        far.delegate = TunnelEnd(other: near) {
            near.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        }
    }

    func streamClosed(_ stream: Net.Stream, error: StreamError?) {}
}

/// One end of a tunnel: received bytes go to the other end.
private final class TunnelEnd: StreamDelegate {
    private let other: Net.Stream
    private let opened: () -> Void

    init(other: Net.Stream, opened: @escaping () -> Void = {}) {
        self.other = other
        self.opened = opened
    }

    func streamOpened(_ stream: Net.Stream) { opened() }

    func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var copy: [UInt8] = []
        bytes.span.withUnsafeBufferPointer { copy.append(contentsOf: $0) }
        other.write(copy)
        return bytes.count
    }

    func streamReachedEnd(_ stream: Net.Stream) {
        other.close(within: .seconds(5))
        stream.close(within: .seconds(5))
    }

    func streamClosed(_ stream: Net.Stream, error: StreamError?) {
        other.close(within: .seconds(5))
    }
}
