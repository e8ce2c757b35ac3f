import Glibc
import Net
import Testing

@testable import FanfareServer

@Suite("Listening") struct ListeningTests {
    @Test(
        "A port in use is an error with the address",
        arguments: [1, 2],
        [1, 2]
    )
    func portIsTaken(firstLoops: Int, secondLoops: Int) async throws {
        try await TestBroker.run(loops: firstLoops) { broker in
            var configuration = Configuration.development
            configuration.port = broker.port
            configuration.loops = secondLoops
            let server = try BrokerServer(configuration: configuration)
            await #expect {
                try await server.start()
            } throws: {
                "\($0)".contains("127.0.0.1:\(broker.port)")
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
        configuration.certificates = [
            CertificateFiles(certificate: "/nowhere.pem", key: "/nowhere.key")
        ]
        #expect(throws: StartError.self) { try BrokerServer(configuration: configuration) }
    }
}
