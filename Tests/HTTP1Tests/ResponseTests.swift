import HTTP1
import Testing

@Suite("Writing responses") struct ResponseTests {
    static let date = HTTPDate.encode(unixTime: 784_111_777)

    private func text(_ response: Response, _ framing: AnswerFraming) -> String {
        String(decoding: response.encode(for: framing, date: Self.date), as: UTF8.self)
    }

    @Test func writesStatusFieldsAndContent() {
        #expect(
            text(.json(Array("{}".utf8)), AnswerFraming(keepAlive: true))
                == "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
    }

    @Test("Connection, RFC 9112 §9.6") func writesConnection() {
        func connection(_ response: Response, _ keepAlive: Bool, _ minor: Int) -> String? {
            text(response, AnswerFraming(keepAlive: keepAlive, minorVersion: minor))
                .split(separator: "\r\n").first { $0.hasPrefix("Connection: ") }.map(String.init)
        }
        var closing = Response.text("x")
        closing.closesConnection = true
        let upgrade = Response(status: 426, fields: [Field("Upgrade", "websocket")])
        #expect(connection(.text("x"), true, 1) == nil)
        #expect(connection(.text("x"), false, 1) == "Connection: close")
        #expect(connection(.text("x"), true, 0) == "Connection: keep-alive")
        #expect(connection(.text("x"), false, 0) == "Connection: close")
        #expect(connection(closing, true, 1) == "Connection: close")
        #expect(connection(upgrade, true, 1) == "Connection: upgrade")
        #expect(connection(upgrade, false, 1) == "Connection: upgrade, close")
    }

    @Test("HEAD, 204 and 304 have no content, RFC 9110 §6.4.1") func leavesContentOut() {
        let head = text(.text("hello"), AnswerFraming(isHEAD: true, keepAlive: true))
        #expect(head.hasSuffix("Content-Length: 5\r\n\r\n"))
        for status in [Status(204), Status(304)] {
            let answer = text(
                Response(status: status, body: [1]),
                AnswerFraming(keepAlive: true)
            )
            #expect(answer.hasSuffix(" GMT\r\n\r\n"))
        }
        let options = text(.options(allowed: [.get, .head]), AnswerFraming(keepAlive: true))
        #expect(options.hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(options.hasSuffix("Allow: GET, HEAD\r\n\r\n"))
    }

    @Test func overridesItsOwnFieldsAndCannotBeSplit() {
        let response = Response(
            status: 200,
            fields: [
                Field("Content-Length", "9"), Field("transfer-encoding", "chunked"),
                Field("X", "a\r\nSet-Cookie: b\0"),
            ]
        )
        let answer = text(response, AnswerFraming(keepAlive: true))
        #expect(answer.hasSuffix("GMT\r\nX: a  Set-Cookie: b \r\nContent-Length: 0\r\n\r\n"))
    }

    @Test func appendsToOthers() {
        var bytes = Array("before".utf8)
        Response.text("x").append(to: &bytes, for: AnswerFraming(), date: Self.date)
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("beforeHTTP/1.1 200 OK\r\n"))
    }

    @Test func refuses() {
        let tooLong = Response(refusing: .contentTooLong(length: 9, limit: 8))
        #expect(tooLong.status == 413)
        #expect(tooLong.closesConnection)
        #expect(tooLong.body == Array("The content has 9 bytes; at most 8 are accepted.".utf8))
        let notAllowed = Response(refusing: .methodNotAllowed(.put, allowed: [.get, .post]))
        #expect(notAllowed.status == 405)
        #expect(notAllowed.field("allow") == "GET, POST")
        #expect(!notAllowed.closesConnection)
    }

    @Test("Every written response can be parsed") func parsesWrittenResponses() {
        var bytes: [UInt8] = []
        let framing = AnswerFraming(keepAlive: true)
        Response.text("one").append(to: &bytes, for: framing, date: Self.date)
        Response(status: 204).append(to: &bytes, for: framing, date: Self.date)
        Response.json([0x7B, 0x7D]).append(
            to: &bytes,
            for: AnswerFraming(isHEAD: true, keepAlive: true),
            date: Self.date
        )
        Response.html([1, 2, 3], status: 404).append(to: &bytes, for: framing, date: Self.date)
        let expected: [Event] = [
            .response(200), .content(Array("one".utf8)), .response(204), .content([]),
            .response(200), .content([]), .response(404), .content([1, 2, 3]),
        ]
        let methods: [Method] = [.get, .post, .head, .get]
        #expect(responses([bytes], to: methods) == expected)
        #expect(responses(bytes.map { [$0] }, to: methods) == expected)
    }
}

@Suite("Dates, RFC 9110 §5.6.7") struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
        (1_709_251_200, "Fri, 01 Mar 2024 00:00:00 GMT"),
        (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func writes(time: Int64, text: String) {
        #expect(String(decoding: HTTPDate.encode(unixTime: time), as: UTF8.self) == text)
    }
}
