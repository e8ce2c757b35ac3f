import ArgumentParser
import Net

/// What a conformance suite for servers talks to: every message comes back as it was.
@main struct EchoServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "websocket-echo-server",
        abstract: "Sends every WebSocket message back, on 127.0.0.1.",
        discussion: """
            Made for test suites such as Autobahn's.

            EXAMPLES
              websocket-echo-server --port 9001
              websocket-echo-server --port 9002 --tls-certificate cert.pem --tls-key key.pem
            """
    )

    @Option(help: "The port to listen on; 0 takes any free one.")
    var port: UInt16

    @Option(help: "A certificate chain in PEM; the server then speaks TLS.")
    var tlsCertificate: String?

    @Option(help: "The certificate's private key in PEM.")
    var tlsKey: String?

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
    }

    func run() async throws {
        var tls: TLSContext?
        if let tlsCertificate, let tlsKey {
            tls = try .server([CertificateFiles(certificate: tlsCertificate, key: tlsKey)])
        }
        let loop = try EventLoop(name: "echo")
        let room = try EchoRoom(loop: loop)
        try loop.start(room)
        guard let loopback = SocketAddress(ip: "127.0.0.1", port: port) else { return }
        let address = try await room.listen(on: loopback, tls: tls)
        print("websocket-echo-server: ready on \(tls == nil ? "ws" : "wss")://\(address)")
        await loop.waitUntilStopped()
    }
}

/// The loop's resident: a reactor and its listener.
actor EchoRoom: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor

    init(loop: EventLoop) throws(SystemError) {
        self.loop = loop
        reactor = try Reactor(loop: loop)
    }

    func turn() -> Bool {
        reactor.turn()
        return true
    }

    func listen(on address: SocketAddress, tls: TLSContext?) throws(SystemError) -> SocketAddress {
        // The suites send messages of 16 MiB and want them back.
        let limits = StreamLimits(queuedBytesMax: 64 << 20)
        let reactor = reactor
        let listener = try reactor.listen(on: address, tls: tls, streamLimits: limits) { _ in
            EchoConnection(reactor: reactor)
        }
        return listener.address
    }
}
