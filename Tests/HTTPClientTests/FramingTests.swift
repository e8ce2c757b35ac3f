import HTTPClient
import TestHTTPServer
import Testing

@Suite("Framing of answers", .timeLimit(.minutes(1))) struct FramingTests {
    /// An answer, and the expected result.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        var status = 200
        var body = ""
        /// Whether the server ends its side after it.
        var endsConnection = false
        /// Whether the connection is reused for a second request.
        var isKept = true
    }

    private static let answers = [
        Answer(
            testDescription: "chunks with extensions and trailers (RFC 9112 §7.1)",
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;a=1;b=\"x;y\"\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 7\r\nX-More: 8\r\n\r\n",
            body: "abcde"
        ),
        Answer(
            testDescription: "content up to the end of the connection (§6.3)",
            text: "HTTP/1.1 200 OK\r\n\r\nabc",
            body: "abc",
            endsConnection: true,
            isKept: false
        ),
        Answer(
            testDescription: "interim answers before the final one (RFC 9110 §15.2)",
            text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + response("abc"),
            body: "abc"
        ),
        Answer(
            testDescription: "204 has no content, whatever is announced",
            text: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            status: 204
        ),
        Answer(
            testDescription: "304 has no content, whatever is announced",
            text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            status: 304
        ),
        Answer(
            testDescription: "HTTP/1.0 ends the connection",
            text: "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            body: "abc",
            isKept: false
        ),
        Answer(
            testDescription: "HTTP/1.0 keeps it when it says so",
            text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc",
            body: "abc"
        ),
        Answer(
            testDescription: "Connection: close",
            text: response("abc", fields: "Connection: close\r\n"),
            body: "abc",
            isKept: false
        ),
        Answer(
            testDescription: "names and options in lower case, without spaces",
            text: "HTTP/1.1 200 OK\r\ncontent-length:3\r\nconnection:close\r\n\r\nabc",
            body: "abc",
            isKept: false
        ),
        Answer(
            testDescription: "no reason behind the status",
            text: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"
        ),
        Answer(
            testDescription: "the server keeps connections longer than the client",
            text: response("", fields: "Keep-Alive: timeout=75, max=99\r\n")
        ),
        Answer(
            testDescription: "the server keeps connections too short a time",
            text: response("", fields: "Keep-Alive: max=99, timeout=1\r\n"),
            isKept: false
        ),
        Answer(
            testDescription: "101 goes over to another protocol",
            text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            status: 101,
            isKept: false
        ),
    ]

    private func server(_ answer: Answer) throws -> ScriptedServer {
        try ScriptedServer { _, _ in
            answer.endsConnection ? .answerAndClose(answer.text) : .answer(answer.text)
        }
    }

    @Test("Is read completely", arguments: answers) func whole(answer: Answer) async throws {
        let server = try server(answer)
        defer { server.stop() }
        let transport = try SocketHTTP(to: HTTPAddress(server.url))
        for _ in 0..<2 {
            let result = try await transport.send(HTTPCall(method: "GET", target: "/"))
            #expect(result == HTTPAnswer(status: answer.status, body: Array(answer.body.utf8)))
        }
        #expect(server.connectionCount == (answer.isKept ? 1 : 2))
    }

    @Test("Is read byte by byte", arguments: answers.filter { !$0.endsConnection })
    func trickling(answer: Answer) async throws {
        let server = try ScriptedServer { _, _ in .trickle(answer.text) }
        defer { server.stop() }
        let settings = ConnectionSettings(pacesReading: true)
        let transport = try SocketHTTP(to: HTTPAddress(server.url), settings: settings)
        let result = try await transport.send(HTTPCall(method: "GET", target: "/"))
        #expect(result == HTTPAnswer(status: answer.status, body: Array(answer.body.utf8)))
    }

    @Test("With the status alone, the content is dropped", arguments: answers)
    func status(answer: Answer) async throws {
        let server = try server(answer)
        defer { server.stop() }
        let transport = try SocketHTTP(to: HTTPAddress(server.url))
        let call = HTTPCall(
            method: "POST",
            target: "/",
            body: [1],
            isRepeatable: true,
            contentPeriod: .seconds(20)
        )
        for _ in 0..<2 {
            #expect(try await transport.send(call) == HTTPAnswer(status: answer.status, body: []))
        }
        #expect(server.connectionCount == (answer.isKept ? 1 : 2))
    }
}
