import Net
import WebSocket

/// The loop's resident: a reactor with one connection at a time.
actor ConformanceLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let server: FuzzingServer
    private let address: SocketAddress
    private let tls: TLSContext?
    private let reactor: Reactor

    init(
        loop: EventLoop,
        server: FuzzingServer,
        address: SocketAddress,
        tls: TLSContext?
    ) throws(SystemError) {
        self.loop = loop
        self.server = server
        self.address = address
        self.tls = tls
        reactor = try Reactor(loop: loop)
    }

    func turn() -> Bool {
        reactor.turn()
        return true
    }

    /// Runs a connection to its end.
    ///
    /// - Parameters:
    ///   - target: The request's target.
    ///   - echoes: Whether messages are sent back.
    /// - Returns: The outcome.
    func run(_ target: String, echoes: Bool) async -> SuiteConnection.Outcome {
        do throws(HandshakeFailure) {
            let handshake = try ClientHandshake(
                host: server.authority,
                target: target,
                nonce: (0..<16).map { _ in .random(in: .min ... .max) },
                // No threshold: the suites expect every message to be compressed as negotiated.
                deflate: DeflateOptions(compressionThreshold: 0)
            )
            return await withCheckedContinuation { continuation in
                let connection = SuiteConnection(handshake, echoes: echoes, reactor: reactor) {
                    continuation.resume(returning: $0)
                }
                connection.begin(at: address, tls: tls.map { ($0, server.host) })
            }
        } catch {
            return .failed(error.description)
        }
    }
}
