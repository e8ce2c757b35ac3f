import ArgumentParser
import Glibc
import Net

/// The server under test of a conformance suite: sends every message back unchanged.
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
        guard let loopback = SocketAddress(ip: "127.0.0.1", port: port) else {
            preconditionFailure("127.0.0.1 is an address")
        }
        let loop = try EventLoop(name: "echo")
        let resident = try EchoLoop(loop: loop)
        try loop.start(resident)
        let address = try await resident.listen(on: loopback, tls: tls)
        print("websocket-echo-server: ready on \(tls == nil ? "ws" : "wss")://\(address)")
        // Flushed, because standard output may be a file or a pipe.
        fflush(nil)
        await loop.waitUntilStopped()
    }
}
