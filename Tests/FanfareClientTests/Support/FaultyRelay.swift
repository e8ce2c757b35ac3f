import Net
import TestRandom

/// A TCP relay on a real port that cuts connections behind a random number of bytes, or swallows what they send.
actor FaultyRelay: LoopResident {
    nonisolated private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let target: UInt16
    private var random: SeededRandom
    private var isStopping = false
    /// The most bytes that a connection relays, in either direction, before it is cut; `nil` for no limit.
    private var bytesMax: Int?
    /// The number of connections that were opened.
    private var connectionCount = 0
    /// The number of the last connection whose bytes are read and dropped.
    fileprivate var lastSwallowed = 0
    /// The number of connections that were cut.
    fileprivate(set) var cutCount = 0

    private init(to port: UInt16, seed: UInt64) throws {
        target = port
        random = SeededRandom(seed: seed)
        loop = try EventLoop(name: "relay")
        reactor = try Reactor(loop: loop)
    }

    /// Starts a relay on a free port of the loopback address.
    static func start(to port: UInt16, seed: UInt64 = 1) async throws -> (FaultyRelay, UInt16) {
        let relay = try FaultyRelay(to: port, seed: seed)
        try relay.loop.start(relay)
        return (relay, try await relay.listen())
    }

    private func listen() throws -> UInt16 {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { return 0 }
        return try reactor.listen(on: address) { near, _ in self.open(near) }.address.port ?? 0
    }

    private func open(_ near: Net.Stream) -> any StreamDelegate {
        let limit = bytesMax.map { Int.random(in: 1...$0, using: &random) }
        connectionCount += 1
        let pair = RelayedPair(near, connectionCount, limit: limit, of: self)
        if let address = SocketAddress(ip: "127.0.0.1", port: target) {
            pair.far = try? reactor.connect(to: address, timeout: .seconds(5), delegate: pair)
        }
        return pair
    }

    /// Cuts later connections behind up to this number of bytes; `nil` for never.
    func cut(within bytesMax: Int?) { self.bytesMax = bytesMax }

    /// Swallows all bytes of the open connections, as a gateway that has forgotten them.
    func swallowFromOpenConnections() { lastSwallowed = connectionCount }

    fileprivate func recordCut() { cutCount += 1 }

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
}

/// A connection through the relay, on its loop.
private final class RelayedPair: StreamDelegate {
    private let near: Net.Stream
    var far: Net.Stream?
    private let number: Int
    private var bytesLeft: Int?
    private let relay: FaultyRelay

    init(_ near: Net.Stream, _ number: Int, limit: Int?, of relay: FaultyRelay) {
        self.near = near
        self.number = number
        bytesLeft = limit
        self.relay = relay
    }

    func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        let count = bytes.count
        guard number > relay.assumeIsolated({ $0.lastSwallowed }) else { return count }
        let taken = min(count, bytesLeft ?? count)
        var copy: [UInt8] = []
        bytes.span.extracting(0..<taken).withUnsafeBufferPointer { copy.append(contentsOf: $0) }
        (stream === near ? far : near)?.write(copy)
        bytesLeft = bytesLeft.map { $0 - taken }
        if bytesLeft == 0 {
            bytesLeft = nil
            relay.assumeIsolated { $0.recordCut() }
            // The bytes up to the cut still arrive.
            near.close(within: .seconds(1), peerIsDone: true)
            far?.close(within: .seconds(1), peerIsDone: true)
        }
        return count
    }

    func streamReachedEnd(_ stream: Net.Stream) { streamClosed(stream, error: nil) }

    func streamClosed(_ stream: Net.Stream, error: StreamError?) {
        near.abort()
        far?.abort()
    }
}
