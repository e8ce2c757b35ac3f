import Testing

@testable import FanfareServer

/// A hostile request to the HTTP side of the broker, and the expected answers.
struct HostileRequest: CustomTestStringConvertible, Sendable {
    /// An answer: its status, and a part of its text.
    struct Expected: Sendable {
        var status: Int
        var text: String
    }

    let testDescription: String
    let bytes: [UInt8]
    let answers: [Expected]
    /// Whether the broker closes the connection after the last answer; if not, it must serve a valid request.
    let ends: Bool

    /// A request that is refused, behind which the connection ends.
    init(_ name: String, _ bytes: [UInt8], _ status: Int, _ text: String) {
        self.init(name, bytes, [Expected(status: status, text: text)], ends: true)
    }

    /// A request that is refused, behind which the connection ends.
    init(_ name: String, _ text: String, _ status: Int, _ answer: String) {
        self.init(name, Array(text.utf8), status, answer)
    }

    /// Requests that are answered, and a connection that stays in step.
    init(_ name: String, answered text: String, _ answers: (Int, String)...) {
        let expected = answers.map { Expected(status: $0.0, text: $0.1) }
        self.init(name, Array(text.utf8), expected, ends: false)
    }

    private init(_ name: String, _ bytes: [UInt8], _ answers: [Expected], ends: Bool) {
        testDescription = name
        self.bytes = bytes
        self.answers = answers
        self.ends = ends
    }

    /// A correctly signed event for the bystander: a broker that parses it as a request publishes it.
    static var smuggled: String {
        let body = #"{"name":"smuggled","channel":"\#(Bystander.channel)","data":"1"}"#
        return SignedRequest(path: "/apps/1/events", body: body).text
    }

    /// Sends it and expects the answers, in order and no others.
    func run(on broker: TestBroker) async throws {
        let wire = try Wire(port: broker.port)
        try await wire.pour(bytes)
        for expected in answers {
            let answer = try await wire.answer()
            #expect(answer.status == expected.status)
            #expect(answer.body.contains(expected.text), "\(answer.body)")
            expectNoForeignFields(answer)
        }
        if ends {
            try await wire.expectNoMore()
        } else {
            try wire.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await wire.answer()
            #expect(
                answer.status == 200 && answer.body == "ok (fanfare 0.1.0)\n",
                "out of step: \(answer)"
            )
        }
    }

    /// Expects an answer without the client's text in its head, and with one line of text.
    private func expectNoForeignFields(_ answer: Answer) {
        let known = [
            "date", "content-type", "content-length", "connection", "allow", "retry-after",
            "keep-alive", "upgrade", "sec-websocket-version", "fanfare-version",
        ]
        for line in answer.head.split(separator: "\r\n").dropFirst() {
            let name = line.prefix { $0 != ":" }.lowercased()
            #expect(known.contains(name), "\(line)")
        }
        // By bytes: CRLF is one Character.
        let lineEnds = answer.body.utf8.filter { $0 == 10 || $0 == 13 }
        #expect(lineEnds.isEmpty || lineEnds == [10], "\(answer.body)")
    }
}

extension Wire {
    /// Expects the end of the connection, and no data before it.
    func expectNoMore(
        orReset: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let rest = String(decoding: try await readToEnd(orReset: orReset), as: UTF8.self)
        #expect(rest == "", sourceLocation: sourceLocation)
    }
}
