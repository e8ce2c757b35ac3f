import Net
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of how long somebody may take") struct TimeLimitTests {
    @Test func ofATLSHandshake() async throws {
        let pair = try TemporaryCertificate()
        var configuration = Configuration.development
        configuration.port = nil
        configuration.tlsPort = 0
        configuration.loops = 1
        configuration.certificates = [
            .init(certificate: pair.certificate.path, key: pair.key.path)
        ]
        configuration.admission.tlsHandshakeTimeout = 1
        let server = try BrokerServer(configuration: configuration)
        let port = try #require(try await server.start().tls?.port)
        let silent = try Wire(port: port)
        let begun = try Wire(port: port)
        try begun.send([0x16, 3, 1])
        #expect(try await silent.readToEnd().isEmpty)
        // What it has sent is not read before its record is whole: the kernel says so by a reset.
        #expect(try await begun.readToEnd(orReset: true).isEmpty)
        let broker = TestBroker(server: server, port: port, tlsPort: port)
        try await eventually { await broker.hits(.tlsHandshakeTime) == 2 }
        await server.stop(within: .seconds(1))
    }

    @Test(
        "Of a request's head and of its body: 408",
        arguments: [
            ("GET /health HT", Limit.requestHeadTime),
            (
                "POST /apps/1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{",
                Limit.requestBodyTime
            ),
        ]
    )
    func ofARequest(start: String, limit: Limit) async throws {
        try await TestBroker.run {
            $0.admission.requestHeadTimeout = 1
            $0.admission.requestBodyTimeout = 1
        } _: { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(start)
            let answer = try await wire.answer()
            #expect(answer.status == 408)
            #expect(await broker.hits(limit) == 1)
        }
    }

    @Test func withoutARequest() async throws {
        try await TestBroker.run {
            $0.admission.requestIdleTimeout = 1
        } _: { broker in
            let (client, _) = try await broker.connected()
            #expect(try await Wire(port: broker.port).readToEnd().isEmpty)
            #expect(await broker.hits(.requestIdleTime) == 1)
            // A client is no request.
            try await client.subscribe(to: "news")
        }
    }

    @Test func toAnswerAPing() async throws {
        try await TestBroker.run {
            $0.activityTimeout = 1
            $0.pongTimeout = 1
        } _: { broker in
            let (client, _) = try await broker.connected()
            #expect(try await client.next().opcode == 9)
            try await client.expectEnd(4201)
            #expect(await broker.hits(.pongTime) == 1)
        }
    }
}
