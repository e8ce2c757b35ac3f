import HTTP1
import Testing
import TestRandom

@Suite("Reading responses, RFC 9112 §4, §6.3") struct ResponseParserTests {
    @Test func readsASequenceAtEverySplit() {
        let bytes =
            lines("HTTP/1.1 100 Continue", "")
            + lines("HTTP/1.1 103 Early Hints", "Link: </x>", "")
            + lines("HTTP/1.1 200 OK", "Content-Length: 3", "", "a")
            + lines("HTTP/1.1 200 ", "Transfer-Encoding: chunked", "", "2", "xy", "0", "")
            + lines("HTTP/1.1 304 Not Modified", "Content-Length: 9", "")
            + lines("HTTP/1.1 204", "")
            + lines("HTTP/1.1 200 OK", "Content-Length: 7", "")  // to HEAD
            + lines("HTTP/1.0 404 Not Found", "", "until the end")
        let expected: [Event] = [
            .interim(100), .interim(103), .response(200), .content(Array("a\r\n".utf8)),
            .response(200), .content(Array("xy".utf8)), .response(304), .content([]),
            .response(204), .content([]), .response(200), .content([]),
            .response(404), .content(Array("until the end\r\n".utf8)),
        ]
        let methods: [Method] = [.get, .get, .get, .delete, .head, .get]
        #expect(responses([bytes], to: methods) == expected)
        #expect(responses(bytes.map { [$0] }, to: methods) == expected)
        for cut in 0...bytes.count {
            let events = responses(pieces(bytes, cutAt: [cut]), to: methods)
            if events != expected { Issue.record("cut at \(cut): \(events)") }
        }
    }

    @Test func leavesTheBytesOfAnotherProtocolUnread() throws {
        let head = lines("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "")
        let bytes = head + [0x81, 0]
        var parser = ResponseParser()
        var index = 0
        guard case .head(let response) = try parser.advance(over: bytes.span, from: &index),
            case .content(let content) = try parser.advance(over: bytes.span, from: &index)
        else { return #expect(Bool(false), "head and content were expected") }
        #expect(response.status == 101)
        #expect(response.field("upgrade") == "websocket")
        #expect(content.count == 0)
        #expect(index == head.count)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 200 OK\r\nConte",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    ])
    func noticesTheEndInTheMiddle(text: String) {
        #expect(responses([Array(text.utf8)]).last == .refused(.responseTruncated))
    }

    @Test(arguments: [
        ("HTTP/1.1 20 OK\r\n", HTTPError.statusLineMalformed),
        ("HTTP/1.1 2000 OK\r\n", .statusLineMalformed),
        ("HTTP/1.1 099 OK\r\n", .statusLineMalformed),
        ("HTTP/1.1 600 OK\r\n", .statusLineMalformed),
        ("HTTP/1.1 200 O\0K\r\n", .statusLineMalformed),
        ("HTTP/1.1  200 OK\r\n", .statusLineMalformed),
        ("http/1.1 200 OK\r\n", .statusLineMalformed),
        ("ICY 200 OK\r\n", .statusLineMalformed),
        ("HTTP/2.0 200 OK\r\n", .versionUnsupported("HTTP/2.0")),
        ("HTTP/1.1 200 " + String(repeating: "x", count: 30), .statusLineTooLong(limit: 40)),
        ("HTTP/1.1 200 OK\n", .bareLineFeed),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", .obsoleteFolding),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            .contentLengthRepeated
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            .contentLengthWithTransferEncoding
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
            .contentTooLong(length: 11, limit: 10)
        ),
        ("HTTP/1.1 200 OK\r\n\r\n12345678901", .contentTooLong(length: nil, limit: 10)),
    ])
    func refuses(text: String, error: HTTPError) {
        let limits = HTTPLimits(requestLineLengthMax: 40, bodyLengthMax: 10)
        #expect(responses([Array(text.utf8)], limits: limits).last == .refused(error))
    }

    @Test func determinesWhetherTheConnectionStaysOpen() throws {
        func keepsAlive(_ text: String) throws -> Bool {
            var parser = ResponseParser()
            var index = 0
            let bytes = Array(text.utf8)
            guard case .head(let head) = try parser.advance(over: bytes.span, from: &index)
            else { return false }
            return head.keepAlive
        }
        #expect(try keepsAlive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        #expect(
            try !keepsAlive("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        )
        #expect(try !keepsAlive("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"))
    }

    @Test func parsesRandomMessagesAlikeAtEverySplit() {
        let fragments = [
            "HTTP/1.1 200 OK", "HTTP/1.1 100 C", "HTTP/1.0 204 N", " ", "\r\n", "\r\n", "\r\n",
            "Content-Length: 3", "Transfer-Encoding: chunked", "abc", "3", "0", "\n", ":", "é",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 101 S\r\n\r\n",
        ]
        for seed in UInt64(0)..<3000 {
            var random = SeededRandom(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                bytes += Array((fragments.randomElement(using: &random) ?? "").utf8)
            }
            let whole = responses([bytes])
            let dripped = responses(bytes.map { [$0] })
            if whole != dripped { Issue.record("seed \(seed): \(whole) / \(dripped)") }
        }
    }
}
