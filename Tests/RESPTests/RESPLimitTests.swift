import RESP
import Testing

@Suite("Limits of received values") struct RESPLimitTests {
    private static let limits = RESPLimits(
        lineLengthMax: 40,
        bulkLengthMax: 10,
        elementCountMax: 6,
        depthMax: 3,
        valueLengthMax: 60
    )

    @Test(
        "At the limit",
        arguments: [
            "+" + String(repeating: "a", count: 40) + "\r\n",
            "$10\r\n0123456789\r\n",
            "*6\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n",
            "*1\r\n%1\r\n+a\r\n*2\r\n:1\r\n:2\r\n",
            "*1\r\n*1\r\n*0\r\n",
            "*4\r\n" + String(repeating: "$8\r\n01234567\r\n", count: 4),
        ]
    )
    func accepts(text: String) {
        #expect(Reading(text, limits: Self.limits).error == nil)
        #expect(Reading(text, limits: Self.limits).values.count == 1)
        #expect(Reading.differences(text, limits: Self.limits).isEmpty)
    }

    @Test(
        "Above the limit, before the rest arrives",
        arguments: [
            (
                "+" + String(repeating: "a", count: 41),
                RESPError.lineTooLong(.simpleString, limit: 40)
            ),
            ("$" + String(repeating: "0", count: 33), .lineTooLong(.bulkString, limit: 32)),
            ("$11\r\n", .bulkTooLong(length: 11, limit: 10)),
            ("*7\r\n", .tooManyElements(count: 7, limit: 6)),
            ("%4\r\n", .tooManyElements(count: 8, limit: 6)),
            ("*4\r\n:1\r\n*3\r\n", .tooManyElements(count: 7, limit: 6)),
            ("|4\r\n", .tooManyElements(count: 8, limit: 6)),
            ("%9223372036854775807\r\n", .tooManyElements(count: .max, limit: 6)),
            ("*1\r\n*1\r\n*1\r\n*0\r\n", .tooDeep(limit: 3)),
            (
                "*4\r\n" + String(repeating: "$8\r\n01234567\r\n", count: 3) + "$10\r\n",
                .valueTooLong(length: 63, limit: 60)
            ),
            (
                "*3\r\n" + String(repeating: "+0123456789012345678901234567\r\n", count: 2),
                .valueTooLong(length: 66, limit: 60)
            ),
        ]
    )
    func refuses(text: String, error: RESPError) {
        #expect(Reading(text, limits: Self.limits).error == error)
        #expect(Reading.differences(text, limits: Self.limits).isEmpty)
        let text = "\(error)"
        #expect(text.contains("limit is ") || text.contains("more than "), "\(text)")
    }

    @Test func countsEachValueAnew() {
        let text = String(repeating: "*6\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n", count: 20)
        #expect(Reading(text, limits: Self.limits).values.count == 20)
    }

    @Test func readsALongValueInTimeProportionalToItsLength() {
        // Quadratic work would take minutes.
        let text =
            Array("*20000\r\n".utf8)
            + Array(repeating: Array(":1\r\n".utf8), count: 20_000).joined()
        var parser = RESPParser()
        var count = 0
        for end in 0...text.count {
            var index = 0
            _ = try? parser.next(in: text.span.extracting(0..<end), from: &index) {
                count = $0.count
            }
        }
        #expect(count == 20_000)
    }
}
