import Glibc
import Net
import Testing

@testable import FanfareServer

@Suite("Where the broker listens") struct ListeningTests {
    @Test func aPortThatIsTakenIsAnErrorThatNamesIt() async throws {
        try await TestBroker.run { broker in
            var configuration = Configuration.development
            configuration.port = broker.port
            configuration.loops = 1
            // Another process's broker would not have set SO_REUSEPORT either.
            let socket = try TakenPort()
            configuration.port = socket.port
            let server = try BrokerServer(configuration: configuration)
            do {
                _ = try await server.start()
                Issue.record("started on a port that is taken")
            } catch {
                #expect("\(error)".contains("127.0.0.1:\(socket.port)"))
            }
            await server.stop()
        }
    }

    @Test func aUnixSocketServesTheSame() async throws {
        let path = "/tmp/fanfare-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        try await TestBroker.run(loops: 2) {
            $0.unixSocket = path
        } _: { _ in
            #expect(access(path, F_OK) == 0)
        }
        #expect(access(path, F_OK) != 0, "the socket's file goes with the broker")
    }

    @Test func aCertificateThatIsNotThereIsAnError() {
        var configuration = Configuration.development
        configuration.tlsPort = 0
        configuration.certificates = [.init(certificate: "/nowhere.pem", key: "/nowhere.key")]
        #expect(throws: StartError.self) { try BrokerServer(configuration: configuration) }
    }
}

/// A port of the loopback address that somebody listens on already.
private struct TakenPort {
    let port: UInt16
    private let descriptor: FileDescriptorBox

    init() throws {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptor = FileDescriptorBox(raw)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(raw, address, length) == 0 && listen(raw, 1) == 0
                    ? getsockname(raw, address, &length) : -1
            }
        }
        guard status == 0 else { throw Wire.Failure.system("bind", errno) }
        port = UInt16(bigEndian: address.sin_port)
    }
}

private final class FileDescriptorBox {
    private let raw: Int32
    init(_ raw: Int32) { self.raw = raw }
    deinit { _ = close(raw) }
}
