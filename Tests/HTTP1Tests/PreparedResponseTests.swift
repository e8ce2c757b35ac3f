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
                    var bytes = Array("before ".utf8)
                    prepared.append(to: &bytes, for: framing, date: date)
                    #expect(
                        bytes == Array("before ".utf8) + response.encode(for: framing, date: date)
                    )
                }
            }
        }
    }
}
