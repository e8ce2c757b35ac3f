import Testing

@testable import HTTP1

@Suite("Prepared responses") struct PreparedResponseTests {
    @Test(
        "They are the bytes of the answer itself, whatever the request",
        arguments: [Response.json(Array("{}".utf8)), Response(status: 204), .text("ok\n")]
    )
    func equalTheAnswer(response: Response) {
        let prepared = PreparedResponse(response)
        let date = Array("Sat, 21 Nov 2026 12:00:00 GMT".utf8)
        for isHEAD in [false, true] {
            for keepAlive in [false, true] {
                for minorVersion in 0...1 {
                    let framing = AnswerFraming(
                        isHEAD: isHEAD,
                        keepAlive: keepAlive,
                        minorVersion: minorVersion
                    )
                    for fields in [[], [Field("Server-Field", "1")]] {
                        let serverFields = Response.encode(fields)
                        var bytes = Array("before ".utf8)
                        var expected = bytes
                        prepared.append(
                            to: &bytes,
                            for: framing,
                            date: date,
                            serverFields: serverFields
                        )
                        response.append(
                            to: &expected,
                            for: framing,
                            date: date,
                            serverFields: serverFields
                        )
                        #expect(bytes == expected)
                        let text = String(decoding: bytes, as: UTF8.self)
                        #expect(text.contains("\r\nServer-Field: 1\r\n") == !fields.isEmpty)
                    }
                }
            }
        }
    }
}
