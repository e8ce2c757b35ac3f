import Net
import WebSocket

/// The loop's resident: a reactor and the dialogue that is held.
actor ClientRoom: LoopResident {
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

    /// Holds a dialogue to its end.
    ///
    /// - Parameters:
    ///   - target: What to ask the server for.
    ///   - echoes: Whether its messages are sent back.
    /// - Returns: How it ended.
    func hold(_ target: String, echoes: Bool) async -> Dialogue.Ending {
        do throws(HandshakeFailure) {
            let handshake = try ClientHandshake(
                host: server.authority,
                target: target,
                nonce: (0..<16).map { _ in .random(in: .min ... .max) },
                // No threshold: the suites look at what compression was negotiated for.
                deflate: DeflateOptions(compressionThreshold: 0)
            )
            return await withCheckedContinuation { continuation in
                let dialogue = Dialogue(handshake, echoes: echoes, reactor: reactor) {
                    continuation.resume(returning: $0)
                }
                dialogue.begin(at: address, tls: tls.map { ($0, server.host) })
            }
        } catch {
            return .failed(error.description)
        }
    }
}
