import HTTP1
import Testing

/// A request, and the one rule that it violates.
struct Refusal: CustomTestStringConvertible, Sendable {
    let bytes: String
    let error: HTTPError

    init(_ bytes: String, _ error: HTTPError) {
        self.bytes = bytes
        self.error = error
    }

    var testDescription: String { bytes.debugDescription }
}

@Suite("Refusals, RFC 9112") struct RefusalTests {
    static let host = "Host: h\r\n"
    static let post = "POST / HTTP/1.1\r\n" + host
    static let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"

    static let startLines: [Refusal] = [
        // §2.2: line endings
        Refusal("\n", .bareLineFeed),
        Refusal("GET / HTTP/1.1\nHost: h\n\n", .bareLineFeed),
        Refusal("GET / HTTP/1.1\r\nHost: h\n\r\n", .bareLineFeed),
        Refusal("GET / HTTP/1.1\r\nHost: h\r\n\n", .bareLineFeed),
        Refusal("GET / HTTP/1.1\rHost: h\r\n\r\n", .requestLineMalformed),
        Refusal("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", .fieldValueMalformed(field: "Host")),
        Refusal("GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", .fieldValueMalformed(field: "Host")),
        Refusal("\r\n\r\nGET / HTTP/1.1\r\n", .emptyLine),
        Refusal("\rGET / HTTP/1.1\r\n", .requestLineMalformed),
        // §3: the request line
        Refusal(" GET / HTTP/1.1\r\n", .requestLineMalformed),
        Refusal("GET  / HTTP/1.1\r\n", .requestLineMalformed),
        Refusal("GET /  HTTP/1.1\r\n", .requestLineMalformed),
        Refusal("GET / HTTP/1.1 \r\n", .requestLineMalformed),
        Refusal("GET\t/\tHTTP/1.1\r\n", .requestLineMalformed),
        Refusal("GET /\r\n", .requestLineMalformed),
        Refusal("GET\r\n", .requestLineMalformed),
        Refusal("G(T / HTTP/1.1\r\n", .requestLineMalformed),
        Refusal("GET / http/1.1\r\n", .requestLineMalformed),
        Refusal("GET / HTTP/1.10\r\n", .requestLineMalformed),
        Refusal("GET / HTTP/11\r\n", .requestLineMalformed),
        Refusal("GET / HTTP/1,1\r\n", .requestLineMalformed),
        Refusal("\u{16}\u{03}\u{01}", .requestLineMalformed),
        Refusal("PRI * HTTP/2.0\r\n", .versionUnsupported("HTTP/2.0")),
        Refusal("GET / HTTP/0.9\r\n", .versionUnsupported("HTTP/0.9")),
        // §3.2: the target
        Refusal("GET path HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET * HTTP/1.1\r\n", .targetMalformed),
        Refusal("OPTIONS ** HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET /a#b HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET /é HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET /\0 HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET http:/h/ HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET http:///x HTTP/1.1\r\n", .targetMalformed),
        Refusal("GET http://user@h/ HTTP/1.1\r\n", .targetMalformed),
        Refusal("CONNECT / HTTP/1.1\r\n", .targetMalformed),
        Refusal("CONNECT h HTTP/1.1\r\n", .targetMalformed),
    ]

    static let fields: [Refusal] = [
        // §5: field lines
        Refusal("GET / HTTP/1.1\r\n Host: h\r\n\r\n", .obsoleteFolding),
        Refusal("GET / HTTP/1.1\r\nHost: h\r\n more\r\n\r\n", .obsoleteFolding),
        Refusal("GET / HTTP/1.1\r\nHost: h\r\n\tmore\r\n\r\n", .obsoleteFolding),
        Refusal("GET / HTTP/1.1\r\nHost : h\r\n\r\n", .spaceBeforeColon(field: "Host")),
        Refusal("GET / HTTP/1.1\r\nHost\t: h\r\n\r\n", .spaceBeforeColon(field: "Host")),
        Refusal("GET / HTTP/1.1\r\nHost\r\n\r\n", .fieldNameMalformed),
        Refusal("GET / HTTP/1.1\r\n: h\r\n\r\n", .fieldNameMalformed),
        Refusal("GET / HTTP/1.1\r\nH\"st: h\r\n\r\n", .fieldNameMalformed),
        Refusal("GET / HTTP/1.1\r\nHöst: h\r\n\r\n", .fieldNameMalformed),
        Refusal("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", .fieldValueMalformed(field: "X")),
        Refusal("GET / HTTP/1.1\r\nX: a\u{7F}b\r\n\r\n", .fieldValueMalformed(field: "X")),
        // §3.2: Host
        Refusal("GET / HTTP/1.1\r\n\r\n", .hostMissing),
        Refusal("GET http://h/ HTTP/1.1\r\n\r\n", .hostMissing),
        Refusal("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", .hostRepeated),
        Refusal("GET / HTTP/1.0\r\nHost: h\r\nhost: i\r\n\r\n", .hostRepeated),
        Refusal("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .hostMalformed("a b")),
        Refusal("GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", .hostMalformed("h/x")),
        Refusal("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", .hostMalformed("u@h")),
        Refusal("GET / HTTP/1.1\r\nHost: h:p\r\n\r\n", .hostMalformed("h:p")),
        Refusal("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", .hostMalformed("[::1")),
        // RFC 9110 §10.1.1
        Refusal(
            post + "Content-Length: 1\r\nExpect: 200-ok\r\n\r\n",
            .expectationUnknown("200-ok")
        ),
        Refusal(post + "Expect: 100-continue\r\n\r\n", .lengthRequired),
        Refusal("POST / HTTP/1.0\r\n\r\n", .lengthRequired),
    ]

    static let smuggling: [Refusal] = [
        // RFC 9110 §8.6, RFC 9112 §6.3: one unambiguous length
        Refusal(post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", .contentLengthRepeated),
        Refusal(post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", .contentLengthRepeated),
        Refusal(post + "Content-Length: 5, 5\r\n\r\n", .contentLengthMalformed("5, 5")),
        Refusal(post + "Content-Length: +5\r\n\r\n", .contentLengthMalformed("+5")),
        Refusal(post + "Content-Length: -5\r\n\r\n", .contentLengthMalformed("-5")),
        Refusal(post + "Content-Length: 0x5\r\n\r\n", .contentLengthMalformed("0x5")),
        Refusal(post + "Content-Length: 5 5\r\n\r\n", .contentLengthMalformed("5 5")),
        Refusal(post + "Content-Length: 5.0\r\n\r\n", .contentLengthMalformed("5.0")),
        Refusal(post + "Content-Length:\r\n\r\n", .contentLengthMalformed("")),
        Refusal(
            post + "Content-Length: 18446744073709551621\r\n\r\n",
            .contentTooLong(length: 18_446_744_073_709_551, limit: 1 << 20)
        ),
        Refusal(
            post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            .contentLengthWithTransferEncoding
        ),
        Refusal(
            post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
            .contentLengthWithTransferEncoding
        ),
        Refusal(
            post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            .transferEncodingMalformed("chunked, identity")
        ),
        Refusal(
            post + "Transfer-Encoding: chunked, chunked\r\n\r\n",
            .transferEncodingMalformed("chunked, chunked")
        ),
        Refusal(
            post + "Transfer-Encoding: chunked, identity\r\n\r\n",
            .transferEncodingMalformed("chunked, identity")
        ),
        Refusal(
            post + "Transfer-Encoding: identity\r\n\r\n",
            .transferEncodingMalformed("identity")
        ),
        Refusal(
            post + "Transfer-Encoding: xchunked\r\n\r\n",
            .transferEncodingMalformed("xchunked")
        ),
        Refusal(
            post + "Transfer-Encoding: \"chunked\"\r\n\r\n",
            .transferEncodingMalformed("\"chunked\"")
        ),
        Refusal(
            post + "Transfer-Encoding: chunked;q=1\r\n\r\n",
            .transferEncodingMalformed("chunked;q=1")
        ),
        Refusal(
            post + "Transfer-Encoding:\u{0B}chunked\r\n\r\n",
            .fieldValueMalformed(field: "Transfer-Encoding")
        ),
        Refusal(post + "Transfer-Encoding:\r\n\r\n", .transferEncodingMalformed("")),
        Refusal(
            post + "Transfer-Encoding : chunked\r\n\r\n",
            .spaceBeforeColon(field: "Transfer-Encoding")
        ),
        Refusal(
            post + "Transfer-Encoding: gzip, chunked\r\n\r\n",
            .transferCodingUnsupported("gzip, chunked")
        ),
        Refusal(
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            .transferEncodingInHTTP10
        ),
    ]

    static let chunks: [Refusal] = [
        // §7.1
        Refusal(chunked + "\r\n", .chunkMalformed),
        Refusal(chunked + "x\r\n", .chunkMalformed),
        Refusal(chunked + "-1\r\n", .chunkMalformed),
        Refusal(chunked + "0x1\r\n", .chunkMalformed),
        Refusal(chunked + " 1\r\n", .chunkMalformed),
        Refusal(chunked + "1 \r\n", .chunkMalformed),
        Refusal(chunked + "1\n", .bareLineFeed),
        Refusal(chunked + "1;\r\n", .chunkMalformed),
        Refusal(chunked + "1;a=\r\n", .chunkMalformed),
        Refusal(chunked + "1;a=\"b\r\n", .chunkMalformed),
        Refusal(chunked + "1;a=\"b\\\r\n", .chunkMalformed),
        Refusal(chunked + "1;a b\r\n", .chunkMalformed),
        Refusal(chunked + "1;a\rb\r\n", .chunkMalformed),
        Refusal(chunked + "1\r\nabc", .chunkUnterminated),
        Refusal(chunked + "1\r\na\rb", .chunkUnterminated),
        Refusal(chunked + "1\r\na\n", .chunkUnterminated),
        Refusal(chunked + "0\r\n folded\r\n", .obsoleteFolding),
        Refusal(chunked + "0\r\nX\r\n", .fieldNameMalformed),
        Refusal(chunked + "0\r\n\n", .bareLineFeed),
        Refusal(chunked + "100001\r\n", .contentTooLong(length: nil, limit: 1 << 20)),
        Refusal(chunked + "FFFFFFFFFFFFFFFF\r\n", .contentTooLong(length: nil, limit: 1 << 20)),
        Refusal(chunked + "00000000000000001\r\n", .contentTooLong(length: nil, limit: 1 << 20)),
        Refusal(
            chunked + "1;" + String(repeating: "a", count: 5000),
            .chunkExtensionsTooLong(limit: 4096)
        ),
    ]

    @Test("Lines and targets", arguments: startLines) func line(_ refusal: Refusal) {
        check(refusal)
    }

    @Test("Fields", arguments: fields) func field(_ refusal: Refusal) { check(refusal) }

    @Test("Lengths that recipients could interpret differently", arguments: smuggling)
    func length(_ refusal: Refusal) { check(refusal) }

    @Test("Chunks", arguments: chunks) func chunk(_ refusal: Refusal) { check(refusal) }

    /// The refusal is the last event, for the whole request, byte by byte and at every split.
    private func check(_ refusal: Refusal) {
        let bytes = Array(refusal.bytes.utf8)
        #expect(requests([bytes]).last == .refused(refusal.error))
        #expect(requests(bytes.map { [$0] }).last == .refused(refusal.error))
        for cut in bytes.indices where cut < 200 {
            let last = requests(pieces(bytes, cutAt: [cut])).last
            if last != .refused(refusal.error) { Issue.record("cut at \(cut): \(last as Any)") }
        }
        #expect(!refusal.error.description.isEmpty)
    }

    @Test func limitsChunkExtensionsOverAllChunks() {
        let limits = HTTPLimits(chunkExtensionBytesMax: 8)
        let head = Array(Self.chunked.utf8)
        let good = head + lines("1;abc", "x", "1;abc", "y", "0", "")
        #expect(requests([good], limits: limits).last == .content(Array("xy".utf8)))
        let bad = head + lines("1;abc", "x", "1;abc", "y", "0;a", "")
        #expect(
            requests([bad], limits: limits).last == .refused(.chunkExtensionsTooLong(limit: 8))
        )
    }

    @Test func limitsTrailers() {
        let limits = HTTPLimits(fieldCountMax: 2, fieldBytesMax: 60)
        let head = Array(Self.chunked.utf8) + lines("0")
        #expect(requests([head + lines("A: b", "C: d", "")], limits: limits).last == .content([]))
        #expect(
            requests([head + lines("A: b", "C: d", "E: f", "")], limits: limits).last
                == .refused(.fieldsTooMany(limit: 2))
        )
        let long = head + lines("A: " + String(repeating: "b", count: 60), "")
        #expect(requests([long], limits: limits).last == .refused(.fieldsTooLong(limit: 60)))
    }

    @Test func limitsContentOverAllChunks() {
        let limits = HTTPLimits(bodyLengthMax: 4)
        let bytes = Array(Self.chunked.utf8) + lines("3", "abc", "2", "de", "0", "")
        #expect(
            requests([bytes], limits: limits).last
                == .refused(.contentTooLong(length: nil, limit: 4))
        )
    }

    @Test(arguments: [
        (HTTPError.bareLineFeed, 400), (.hostMissing, 400), (.contentLengthRepeated, 400),
        (.methodNotAllowed(.put, allowed: [.get]), 405), (.timedOut(seconds: 10), 408),
        (.lengthRequired, 411), (.contentTooLong(length: 9, limit: 8), 413),
        (.requestLineTooLong(limit: 9), 414), (.expectationUnknown("x"), 417),
        (.fieldsTooMany(limit: 1), 431), (.fieldsTooLong(limit: 1), 431),
        (.transferCodingUnsupported("gzip"), 501), (.methodUnsupported(.connect), 501),
        (.versionUnsupported("HTTP/2.0"), 505), (.responseTruncated, 502),
        (.statusLineMalformed, 502), (.statusLineTooLong(limit: 9), 502),
    ])
    func hasAStatus(error: HTTPError, status: Int) {
        #expect(error.status.code == status)
        #expect(!error.status.reason.isEmpty)
    }

    @Test func namesValueAndLimit() {
        #expect(
            HTTPError.contentTooLong(length: 9, limit: 8).description
                == "The content has 9 bytes; at most 8 are accepted."
        )
        #expect(
            HTTPError.methodNotAllowed(.put, allowed: [.get, .head]).description
                == "The method PUT is not allowed here; use GET, HEAD."
        )
    }
}
