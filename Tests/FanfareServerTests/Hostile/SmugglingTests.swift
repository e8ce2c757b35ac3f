import Testing

@testable import FanfareServer

extension HostileTests {
    /// Bytes that a proxy may parse differently from the broker: each is followed by a request that would reach the
    /// bystander if it were parsed as one.
    @Suite("Request smuggling, RFC 9112 §11.2") struct SmugglingTests {
        private static let smuggled = HostileRequest.smuggled
        private static let get = "GET /health HTTP/1.1\r\nHost: h\r\n"
        private static let post = "POST /apps/1/events HTTP/1.1\r\nHost: h\r\n"
        /// Signed, since otherwise the content is not read.
        private static var chunked: String {
            SignedRequest(path: "/apps/1/events").head(["Transfer-Encoding: chunked"])
        }

        private static let twoLengths: [HostileRequest] = [
            HostileRequest(
                "CL.TE",
                post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                    + smuggled,
                400,
                "cannot be used together"
            ),
            HostileRequest(
                "TE.CL",
                post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n" + smuggled,
                400,
                "cannot be used together"
            ),
            HostileRequest(
                "CL.CL",
                post + "Content-Length: 0\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n"
                    + smuggled,
                400,
                "more than one field Content-Length"
            ),
            HostileRequest(
                "CL.CL, equal",
                post + "Content-Length: 0\r\ncontent-length: 0\r\n\r\n" + smuggled,
                400,
                "more than one field Content-Length"
            ),
            HostileRequest(
                "a list of lengths",
                post + "Content-Length: 0, \(smuggled.utf8.count)\r\n\r\n" + smuggled,
                400,
                "is not a number"
            ),
            HostileRequest(
                "a length with a sign",
                post + "Content-Length: +0\r\n\r\n" + smuggled,
                400,
                "\"+0\" is not a number"
            ),
        ]

        private static let codings: [HostileRequest] = [
            ("chunked, identity", 400, "does not end in a single \"chunked\""),
            ("identity, chunked", 501, "is not supported"),
            ("gzip, chunked", 501, "is not supported"),
            ("chunked, chunked", 400, "does not end in a single \"chunked\""),
            ("xchunked", 400, "does not end in a single \"chunked\""),
            ("chunked\u{0B}", 400, "control character"),
            ("\"chunked\"", 400, "does not end in a single \"chunked\""),
        ].map { coding, status, text in
            HostileRequest(
                "TE: \(coding.debugDescription)",
                post + "Transfer-Encoding: \(coding)\r\n\r\n0\r\n\r\n" + smuggled,
                status,
                text
            )
        }

        private static let fieldLines: [HostileRequest] = [
            HostileRequest(
                "space before the colon",
                post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
                400,
                "white space between the field name"
            ),
            HostileRequest(
                "a folded coding",
                post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + smuggled,
                400,
                "folded fields are obsolete"
            ),
            HostileRequest(
                "a second coding on a line of its own",
                post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"
                    + smuggled,
                400,
                "does not end in a single \"chunked\""
            ),
            HostileRequest(
                "chunks in HTTP/1.0",
                "POST /apps/1/events HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                    + smuggled,
                400,
                "HTTP/1.0 has no Transfer-Encoding"
            ),
            HostileRequest(
                "a line that ends in LF",
                post + "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
                400,
                "ends in LF alone"
            ),
            HostileRequest(
                "a line that ends in CR",
                post + "X: y\rContent-Length: 0\r\n\r\n" + smuggled,
                400,
                "control character"
            ),
            HostileRequest(
                "a head that ends in LF",
                "GET /health HTTP/1.1\nHost: h\n\n" + smuggled,
                400,
                "ends in LF alone"
            ),
            HostileRequest(
                "a name with NUL",
                post + "Content-Length\0: 0\r\n\r\n" + smuggled,
                400,
                "does not begin with a field name"
            ),
            HostileRequest(
                "two hosts",
                get + "Host: other\r\n\r\n" + smuggled,
                400,
                "more than one field Host"
            ),
            HostileRequest(
                "another protocol's preface",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + smuggled,
                505,
                "use HTTP/1.1"
            ),
            HostileRequest(
                "a tunnel",
                "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n" + smuggled,
                501,
                "CONNECT is not supported"
            ),
        ]

        private static let chunks: [HostileRequest] = [
            ("0x0\r\n\r\n", 400, "does not begin with its size"),
            ("-1\r\n\r\n", 400, "does not begin with its size"),
            (" 0\r\n\r\n", 400, "does not begin with its size"),
            ("0\n\n", 400, "ends in LF alone"),
            ("1\r\nab\r\n0\r\n\r\n", 400, "longer than its size says"),
            ("1\r\na\n0\r\n\r\n", 400, "longer than its size says"),
            ("10000000000000000\r\n", 413, "longer than 2097152 bytes"),
            ("ffffffffffffffff\r\n", 413, "longer than 2097152 bytes"),
            ("0;a=\"\n\"\r\n\r\n", 400, "ends in LF alone"),
            ("0;\r\n\r\n", 400, "does not begin with its size"),
            ("0\r\nX : y\r\n\r\n", 400, "white space between the field name"),
        ].map { content, status, text in
            HostileRequest(
                "chunk \(content.debugDescription)",
                chunked + content + smuggled,
                status,
                text
            )
        }

        private static let inStep: [HostileRequest] = [
            HostileRequest(
                "a request in the content of another",
                answered: get + "Content-Length: \(smuggled.utf8.count)\r\n\r\n" + smuggled,
                (200, "ok")
            ),
            HostileRequest(
                "a request in a chunk of another",
                answered: get + "Transfer-Encoding: chunked\r\n\r\n"
                    + "\(String(smuggled.utf8.count, radix: 16))\r\n\(smuggled)\r\n0\r\n\r\n",
                (200, "ok")
            ),
            HostileRequest(
                "a length in a trailer",
                answered: get
                    + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 100\r\n\r\n",
                (200, "ok")
            ),
            HostileRequest(
                "a request in the content of one that is refused",
                answered:
                    "PUT /health HTTP/1.1\r\nHost: h\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n"
                    + smuggled,
                (405, "PUT is not allowed")
            ),
            HostileRequest(
                "a request in the content of an upgrade that is refused",
                answered: "POST /app/app-key HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                    + "Connection: Upgrade\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n"
                    + smuggled,
                (405, "GET")
            ),
            HostileRequest(
                "an upgrade to HTTP/2, which is ignored",
                answered: get + "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                    + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
                (200, "ok")
            ),
            HostileRequest(
                "an upgrade that Connection does not name",
                answered: "GET /app/app-key HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n",
                (404, "Nothing is at /app/app-key")
            ),
            HostileRequest(
                "a length of a hop of its own",
                answered: get
                    + "Connection: Content-Length\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n"
                    + smuggled,
                (200, "ok")
            ),
        ]

        @Test(arguments: twoLengths + codings + fieldLines + chunks + inStep)
        func isNotParsed(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }
    }
}
