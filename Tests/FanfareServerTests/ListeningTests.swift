import BrokerConfiguration
import Glibc
import Logging
import Net
import TestFiles
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

    @Test(
        "Several hosts: each serves clients, metrics and the console, on one port",
        arguments: [1, 2]
    )
    func severalHosts(loops: Int) async throws {
        let hosts = ["127.0.0.1", "127.0.0.2"]
        var configuration = Configuration.development
        (configuration.hosts, configuration.port, configuration.loops) = (hosts, 0, loops)
        (configuration.metrics.hosts, configuration.metrics.port) = (hosts, 0)
        (configuration.console.hosts, configuration.console.port) = (hosts, 0)
        configuration.console.password = "a-long-password"
        let server = try BrokerServer(configuration: configuration)
        let addresses = try await server.start()
        for (all, path) in [
            (addresses.plainAll, "/live"), (addresses.metricsAll, "/metrics"),
            (addresses.consoleAll, "/"),
        ] {
            #expect(all.map(\.ip) == hosts)
            #expect(Set(all.map(\.port)).count == 1)
            for address in all {
                let wire = try Wire(port: #require(address.port), ip: #require(address.ip))
                try wire.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                let answer = String(decoding: try await wire.readToEnd(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(address): \(answer.prefix(80))")
            }
        }
        await server.stop(within: .seconds(1))
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

    @Test("HTTP without TLS on the TLS port is told so", arguments: ["GET", "POST", "OPTIONS"])
    func plainHTTPOnTheTLSPort(method: String) async throws {
        let pair = try TemporaryCertificate()
        let lines = LogLines()
        try await TestBroker.run(log: lines.logger(from: .info)) {
            $0.tlsPort = 0
            $0.certificates = [.init(certificate: pair.certificate.path, key: pair.key.path)]
        } _: { broker in
            let wire = try Wire(port: broker.tlsPort)
            try wire.send("\(method) /health HTTP/1.1\r\nHost: h\r\n\r\n")
            let answer = String(decoding: try await wire.readToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(answer.contains("\r\nConnection: close\r\n"))
            #expect(answer.contains("\r\n\r\nThis is a TLS port"))
            try await eventually {
                lines.all.contains {
                    $0.hasPrefix("info connection refused address=127.0.0.1:")
                        && $0.contains("use https:// or wss://")
                }
            }
            // What is neither is closed without an answer, as before.
            let other = try Wire(port: broker.tlsPort)
            try other.send("abc def\r\n\r\n")
            let end = try await other.readToEnd(orReset: true)
            #expect(!String(decoding: end, as: UTF8.self).contains("HTTP/1.1"))
        }
    }

    @Test("TLS on the plain port is told so, and closed")
    func tlsOnThePlainPort() async throws {
        let lines = LogLines()
        try await TestBroker.run(log: lines.logger(from: .info)) { broker in
            let wire = try Wire(port: broker.port)
            // The beginning of a ClientHello (RFC 8446 §4.1.2).
            try wire.send([0x16, 0x03, 0x01, 0x00, 0x2F, 0x01, 0x00, 0x00, 0x2B, 0x03, 0x03])
            let text = String(decoding: try await wire.readToEnd(orReset: true), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(text.contains("\r\n\r\nThis port has no TLS"))
            try await eventually {
                lines.all.contains {
                    $0.hasPrefix("info connection refused address=127.0.0.1:")
                        && $0.contains("use http:// or ws://, or the port of tls.port")
                }
            }
            // A request with that byte behind its first is malformed as before.
            let other = try Wire(port: broker.port)
            try other.send("GET /\u{16} HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await other.answer().status == 400)
        }
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
