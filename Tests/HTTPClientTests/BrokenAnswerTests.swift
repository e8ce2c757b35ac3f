import HTTPClient
import TestHTTPServer
import Testing

@Suite("Invalid answers", .timeLimit(.minutes(1))) struct BrokenAnswerTests {
    /// An answer, and a part of the error's text.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let complaint: String
    }

    private static let heads = [
        Fault(
            testDescription: "another protocol",
            text: "SSH-2.0-OpenSSH_9.2\r\n\r\n",
            complaint: "the answer is not HTTP"
        ),
        Fault(
            testDescription: "an alert of TLS",
            text: "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{16}",
            complaint: "the answer was cut off"
        ),
        Fault(
            testDescription: "a head that is cut off",
            text: "HTTP/1.1 200 OK\r\nContent-",
            complaint: "the answer was cut off"
        ),
        Fault(
            testDescription: "no answer at all",
            text: "",
            complaint: "the server closed the connection"
        ),
        Fault(
            testDescription: "Content-Length beside Transfer-Encoding (RFC 9112 §6.1)",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            complaint: "the answer is not HTTP"
        ),
        Fault(
            testDescription: "two lengths (§6.3)",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            complaint: "the answer is not HTTP"
        ),
        Fault(
            testDescription: "chunks in HTTP/1.0 (§6.1)",
            text: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            complaint: "the answer is not HTTP"
        ),
        Fault(
            testDescription: "lines without a carriage return (§2.2)",
            text: "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            complaint: "the answer is not HTTP"
        ),
    ]

    private static let contents = [
        Fault(
            testDescription: "content that is cut off",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            complaint: "the answer was cut off"
        ),
        Fault(
            testDescription: "chunks that are cut off",
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            complaint: "the answer was cut off"
        ),
        Fault(
            testDescription: "a chunk without a size",
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            complaint: "the answer is not HTTP"
        ),
        Fault(
            testDescription: "content beyond the limit",
            text: response(String(repeating: "x", count: 1_001)),
            complaint: "longer than 1000 bytes"
        ),
    ]

    private func send(_ text: String, contentPeriod: Duration? = nil) async throws -> HTTPAnswer {
        let server = try ScriptedServer { _, _ in .answerAndClose(text) }
        defer { server.stop() }
        let transport = try SocketHTTP(to: HTTPAddress(server.url))
        let call = HTTPCall(
            method: "POST",
            target: "/",
            answerLengthMax: 1_000,
            contentPeriod: contentPeriod
        )
        return try await transport.send(call)
    }

    @Test("Are refused with a clear error", arguments: heads + contents)
    func refused(fault: Fault) async throws {
        let failure = await #expect(throws: HTTPFailure.self) { try await send(fault.text) }
        let complaint = failure?.description ?? ""
        #expect(complaint.contains(fault.complaint), "\(complaint)")
    }

    @Test("An invalid head is refused even if only the status matters", arguments: heads)
    func refusedWithoutContent(fault: Fault) async throws {
        let failure = await #expect(throws: HTTPFailure.self) {
            try await send(fault.text, contentPeriod: .seconds(20))
        }
        let complaint = failure?.description ?? ""
        #expect(complaint.contains(fault.complaint), "\(complaint)")
    }

    @Test("Invalid content is ignored if only the status matters", arguments: contents)
    func statusAlone(fault: Fault) async throws {
        let answer = try await send(fault.text, contentPeriod: .seconds(20))
        #expect(answer == HTTPAnswer(status: 200, body: []))
    }

    @Test("An answer before the request was read is accepted")
    func earlyAnswers() async throws {
        let text = response("", status: "413 Content Too Large", fields: "Connection: close\r\n")
        let server = try ScriptedServer(readsContent: false) { _, _ in .answerAndReset(text) }
        defer { server.stop() }
        let transport = try SocketHTTP(to: HTTPAddress(server.url))
        let body = [UInt8](repeating: 0x61, count: 8_000_000)
        for _ in 0..<5 {
            let call = HTTPCall(method: "POST", target: "/", body: body, isRepeatable: true)
            #expect(try await transport.send(call).status == 413)
        }
    }
}
