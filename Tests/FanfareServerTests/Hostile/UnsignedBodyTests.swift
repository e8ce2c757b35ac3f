import Testing

@testable import FanfareServer

@Suite("Bodies of unsigned requests", .serialized) struct UnsignedBodyTests {
    /// Requests whose body must not be read, and the immediate answer.
    private static let requests: [(name: String, head: String, status: Int)] = [
        ("a wrong signature", signed { $0.secret = "wrong" }, 401),
        ("an unknown key", signed { $0.key = "unknown" }, 401),
        ("an old timestamp", signed { $0.timestamp -= 1_000 }, 401),
        ("no signature", "POST /apps/1/events HTTP/1.1\r\nHost: h\r\n" + length, 401),
        ("no such app", signed { $0.path = "/apps/404/events" }, 404),
        ("no such path", signed { $0.path = "/nowhere" }, 404),
        ("no such method", signed { $0.method = "PUT" }, 405),
        ("a question that needs no key", "GET /health HTTP/1.1\r\nHost: h\r\n" + length, 200),
        ("options", "OPTIONS /apps/1/events HTTP/1.1\r\nHost: h\r\n" + length, 204),
        (
            "a handshake",
            "GET \(WebSocketWire.target) HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                + "Sec-WebSocket-Version: 13\r\n" + length,
            400
        ),
    ]
    private static let length = "Content-Length: \(1 << 20)\r\n\r\n"

    private static func signed(_ change: (inout SignedRequest) -> Void) -> String {
        var request = SignedRequest(path: "/apps/1/events", body: "{}")
        change(&request)
        return request.head(["Content-Length: \(1 << 20)"])
    }

    @Test("Hundreds of partial bodies of 1 MiB: answered after the head, and not buffered")
    func partialBodies() async throws {
        let part = [UInt8](repeating: 0x61, count: 100_000)
        try await TestBroker.attacked(loops: 2) { broker in
            // In waves: the tests' process has both ends, see HalfOpenTests.
            for _ in 0..<3 {
                var wires: [Wire] = []
                for number in 0..<100 {
                    let request = Self.requests[number % Self.requests.count]
                    let wire = try Wire(port: broker.port)
                    try wire.send(request.head)
                    try await wire.pour(part)
                    let answer = try await wire.read(through: "\r\n\r\n")
                    #expect(answer.hasPrefix("HTTP/1.1 \(request.status) "), "\(request.name)")
                    wires.append(wire)
                }
                #expect(await broker.metric("fanfare_inbound_bytes") == 0)
                for wire in wires { wire.endSending() }
                for wire in wires { _ = try await wire.readToEnd(orReset: true) }
            }
        }
    }

    @Test(
        "Expect: 100-continue is answered with the refusal, or 100 if the head is valid",
        arguments: ["Content-Length: 9", "Transfer-Encoding: chunked"]
    )
    func expectContinue(framing: String) async throws {
        try await TestBroker.run { broker in
            for (secret, status) in [("wrong", "401"), ("app-secret", "100")] {
                let wire = try Wire(port: broker.port)
                var request = SignedRequest(path: "/apps/1/events", body: "{}")
                request.secret = secret
                try wire.send(request.head(["Expect: 100-continue", framing]))
                let head = try await wire.read(through: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test("If signature and body are both wrong, the error is the signature's")
    func signatureFirst() async throws {
        try await TestBroker.run { broker in
            var request = SignedRequest(path: "/apps/1/events", body: #"{"name":"e"}"#)
            let other = request.body.replacing("e", with: "f")
            let good = try Wire(port: broker.port)
            try good.send(request.head(["Content-Length: \(other.utf8.count)"]) + other)
            #expect(try await good.answer().body == "Invalid body MD5\n")
            request.secret = "wrong"
            let bad = try Wire(port: broker.port)
            try bad.send(request.head(["Content-Length: \(other.utf8.count)"]) + other)
            let answer = try await bad.answer()
            #expect(answer.status == 401 && answer.body.hasPrefix("Invalid signature"))
        }
    }
}
