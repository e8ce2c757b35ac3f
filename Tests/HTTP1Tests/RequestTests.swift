import HTTP1
import Testing

@Suite("Writing requests") struct RequestTests {
    @Test func writesALineFieldsAndContent() throws {
        let request = Request(
            .post,
            "/apps/1/events?a=b",
            host: "localhost:6001",
            fields: [Field("Content-Type", "application/json"), Field("Content-Length", "99")],
            body: Array("{}".utf8)
        )
        #expect(
            String(decoding: try request.encode(), as: UTF8.self)
                == "POST /apps/1/events?a=b HTTP/1.1\r\nHost: localhost:6001\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        let last = Request(.get, "/", host: "h", keepAlive: false)
        #expect(
            String(decoding: try last.encode(), as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        )
        let upgrade = Request(.get, "/", host: "h", fields: [Field("Upgrade", "websocket")])
        #expect(
            String(decoding: try upgrade.encode(), as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
    }

    @Test func canBeParsed() throws {
        let request = Request(.put, "/x?y", host: "[::1]:80", body: [1, 2, 3])
        #expect(requests([try request.encode()]) == [.request("PUT /x?y"), .content([1, 2, 3])])
    }

    @Test(arguments: [
        (Request(.other("G T"), "/", host: "h"), HTTPError.requestLineMalformed),
        (Request(.get, "/ HTTP/1.1\r\nX: y", host: "h"), .targetMalformed),
        (Request(.get, "", host: "h"), .targetMalformed),
        (Request(.get, "/", host: "h\r\nX: y"), .hostMalformed("h\r\nX: y")),
        (Request(.get, "/", host: "h", fields: [Field("X:", "y")]), .fieldNameMalformed),
        (
            Request(.get, "/", host: "h", fields: [Field("X", "y\r\nZ: z")]),
            .fieldValueMalformed(field: "X")
        ),
    ])
    func cannotBeSplit(request: Request, error: HTTPError) {
        #expect(throws: error) { try request.encode() }
    }
}
