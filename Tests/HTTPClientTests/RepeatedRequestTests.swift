import HTTPClient
import TestHTTPServer
import Testing

@Suite("Requests that may be repeated", .timeLimit(.minutes(1))) struct RepeatedRequestTests {
    /// Answers the first request, and closes the connection that the second one comes over.
    private func server() throws -> ScriptedServer {
        try ScriptedServer { _, index in index == 1 ? .close : .answer(response("{}")) }
    }

    @Test("What does no harm twice is sent again over a fresh connection, with its fields")
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

    @Test("Whatever else is posted is sent once")
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
