import HTTPClient
import TestHTTPServer
import Testing

@Suite("Idempotent requests", .timeLimit(.minutes(1))) struct RepeatedRequestTests {
    /// Answers the first request, and closes the connection of the second.
    private func server() throws -> ScriptedServer {
        try ScriptedServer { _, index in index == 1 ? .close : .answer(response("{}")) }
    }

    @Test("An idempotent request is retried on a new connection, with its fields")
    func repeatable() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try platformTransport(to: HTTPAddress(server.url))
        let call = HTTPCall(
            method: "POST",
            target: "/auth",
            fields: [HTTPField("X-Token", "7")],
            body: Array("a=b".utf8),
            isRepeatable: true
        )
        for _ in 0..<2 { #expect(try await transport.send(call).status == 200) }
        #expect(server.received.map(\.connection) == [0, 0, 1])
        #expect(
            server.received.allSatisfy { $0.head.contains("\r\nX-Token: 7") && $0.body == "a=b" }
        )
    }

    @Test("Other POST requests are sent once")
    func notRepeatable() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try platformTransport(to: HTTPAddress(server.url))
        let call = HTTPCall(method: "POST", target: "/")
        _ = try await transport.send(call)
        await #expect(throws: HTTPFailure.self) { try await transport.send(call) }
        #expect(server.received.count == 2)
    }
}
