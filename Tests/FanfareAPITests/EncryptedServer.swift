import Net
import Synchronization

/// A TLS server that answers every request with the same bytes.
actor EncryptedServer: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let port: UInt16
    private let reactor: Reactor
    private var isStopping = false

    init(certificate: TLSCertificate, answer: String) throws {
        loop = try EventLoop(name: "tls-server")
        let reactor = try Reactor(loop: loop)
        let bytes = Array(answer.utf8)
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else {
            throw SystemError(call: "inet_pton", code: 0)
        }
        let tls = try TLSContext.server([certificate])
        let listener = try reactor.listen(on: address, tls: tls) { _, _ in
            Answerer(bytes)
        }
        port = listener.address.port ?? 0
        self.reactor = reactor
    }

    nonisolated func start() throws { try loop.start(self) }

    func turn() -> Bool {
        reactor.poll()
        reactor.flush()
        if isStopping { reactor.shutDown() }
        return !isStopping
    }

    func stop() { isStopping = true }

    private final class Answerer: StreamDelegate {
        private let answer: [UInt8]
        init(_ answer: [UInt8]) { self.answer = answer }

        func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            let end = Array("\r\n\r\n".utf8)
            guard bytes.count >= 4 else { return 0 }
            // The requests have no content, so they end with the empty line.
            for offset in 0..<4 where bytes[bytes.count - 4 + offset] != end[offset] { return 0 }
            stream.write(answer)
            return bytes.count
        }

        func streamClosed(_ stream: Stream, error: StreamError?) {}
    }
}
