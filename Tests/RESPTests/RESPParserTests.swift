import RESP
import TestRedis
import Testing

@Suite("Reading RESP3") struct RESPParserTests {
    @Test(
        "Each type, at every split",
        arguments: [
            ("+OK\r\n", Value.text(.simpleString, "OK")),
            ("+\r\n", .text(.simpleString, "")),
            ("-ERR unknown command 'x'\r\n", .text(.simpleError, "ERR unknown command 'x'")),
            (":0\r\n", .text(.integer, "0")),
            (":-9223372036854775808\r\n", .text(.integer, "-9223372036854775808")),
            (":+9223372036854775807\r\n", .text(.integer, "+9223372036854775807")),
            ("$5\r\nhello\r\n", .text(.bulkString, "hello")),
            ("$0\r\n\r\n", .text(.bulkString, "")),
            ("$4\r\n\r\n\r\n\r\n", .text(.bulkString, "\r\n\r\n")),
            ("_\r\n", .null),
            ("$-1\r\n", .null),
            ("*-1\r\n", .null),
            ("#t\r\n", .text(.boolean, "t")),
            ("#f\r\n", .text(.boolean, "f")),
            (",3.25\r\n", .text(.double, "3.25")),
            (",-1E+10\r\n", .text(.double, "-1E+10")),
            (",10\r\n", .text(.double, "10")),
            (",inf\r\n", .text(.double, "inf")),
            (",-inf\r\n", .text(.double, "-inf")),
            (",nan\r\n", .text(.double, "nan")),
            (
                "(-3492890328409238509324850943850943825024385\r\n",
                .text(.bigNumber, "-3492890328409238509324850943850943825024385")
            ),
            ("!11\r\nERR a\r\nline\r\n", .text(.bulkError, "ERR a\r\nline")),
            ("=8\r\ntxt:text\r\n", .text(.verbatimString, "text")),
            ("=4\r\nmkd:\r\n", .text(.verbatimString, "")),
            ("*0\r\n", .list(.array, [])),
            (
                "*3\r\n:1\r\n*1\r\n_\r\n+a\r\n",
                .list(
                    .array,
                    [.text(.integer, "1"), .list(.array, [.null]), .text(.simpleString, "a")]
                )
            ),
            (
                "%2\r\n+a\r\n:1\r\n+b\r\n%0\r\n",
                .list(
                    .map,
                    [
                        .text(.simpleString, "a"), .text(.integer, "1"),
                        .text(.simpleString, "b"), .list(.map, []),
                    ]
                )
            ),
            ("~2\r\n+a\r\n+b\r\n", .list(.set, ["a", "b"].map { .text(.simpleString, $0) })),
            (
                ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nd\r\n",
                .list(.push, ["message", "c", "d"].map { .text(.bulkString, $0) })
            ),
            ("|1\r\n+ttl\r\n:3600\r\n:7\r\n", .text(.integer, "7")),
            ("|0\r\n|1\r\n+a\r\n|1\r\n+b\r\n+c\r\n+d\r\n:7\r\n", .text(.integer, "7")),
            (
                "*2\r\n:1\r\n|1\r\n+a\r\n*2\r\n:8\r\n:9\r\n:2\r\n",
                .list(.array, [.text(.integer, "1"), .text(.integer, "2")])
            ),
        ]
    )
    func reads(text: String, value: Value) {
        let whole = Reading(text)
        #expect(whole.values == [value] && whole.error == nil && whole.left == 0)
        #expect(Reading.differences(text).isEmpty)
    }

    @Test func readsPipelinedRepliesAndPushesInOrder() {
        let text = "+OK\r\n>2\r\n+a\r\n:1\r\n$2\r\n\r\n\r\n|1\r\n+x\r\n:1\r\n*1\r\n#t\r\n:12"
        let whole = Reading(text)
        #expect(
            whole.values == [
                .text(.simpleString, "OK"),
                .list(.push, [.text(.simpleString, "a"), .text(.integer, "1")]),
                .text(.bulkString, "\r\n"),
                .list(.array, [.text(.boolean, "t")]),
            ]
        )
        #expect(whole.left == 3)
        #expect(Reading.differences(text).isEmpty)
    }

    @Test(
        "Refuses what is not RESP3, at every split",
        arguments: [
            ("x\r\n", RESPError.unknownType(0x78)),
            ("\r\n", .unknownType(0x0D)),
            ("*1\r\nPING\r\n", .unknownType(0x50)),
            (":\r\n", .malformed(.integer, "")),
            (":-\r\n", .malformed(.integer, "-")),
            (":1a\r\n", .malformed(.integer, "1a")),
            (": 1\r\n", .malformed(.integer, " 1")),
            (":9223372036854775808\r\n", .malformed(.integer, "9223372036854775808")),
            (":-9223372036854775809\r\n", .malformed(.integer, "-9223372036854775809")),
            ("_x\r\n", .malformed(.null, "x")),
            ("#true\r\n", .malformed(.boolean, "true")),
            (",.5\r\n", .malformed(.double, ".5")),
            (",1.\r\n", .malformed(.double, "1.")),
            (",1e\r\n", .malformed(.double, "1e")),
            (",Inf\r\n", .malformed(.double, "Inf")),
            ("(1.5\r\n", .malformed(.bigNumber, "1.5")),
            ("$-2\r\n", .malformed(.bulkString, "-2")),
            ("$+2\r\nab\r\n", .malformed(.bulkString, "+2")),
            ("$\r\n", .malformed(.bulkString, "")),
            ("!-1\r\n", .malformed(.bulkError, "-1")),
            ("%-1\r\n", .malformed(.map, "-1")),
            ("*x\r\n", .malformed(.array, "x")),
            ("+a\rb\r\n", .missingLineEnd(.simpleString)),
            ("+a\nb\r\n", .missingLineEnd(.simpleString)),
            ("$2\r\nabc\r\n", .missingLineEnd(.bulkString)),
            ("$2\r\nab\n\r", .missingLineEnd(.bulkString)),
            ("=3\r\ntxt\r\n", .missingFormat(length: 3)),
            ("=5\r\ntext:\r\n", .missingFormat(length: 5)),
            ("$?\r\n;4\r\nabcd\r\n;0\r\n", .streamed(.bulkString)),
            ("*?\r\n.\r\n", .streamed(.array)),
            ("*1\r\n>1\r\n:1\r\n", .nestedPush),
        ]
    )
    func refuses(text: String, error: RESPError) {
        #expect(Reading(text).error == error)
        #expect(Reading.differences(text).isEmpty)
    }

    @Test func keepsRefusing() throws {
        var parser = RESPParser()
        for text in [":x\r\n", ":1\r\n"] {
            var index = 0
            let bytes = Array(text.utf8)
            #expect(throws: RESPError.malformed(.integer, "x")) {
                try parser.next(in: bytes.span, from: &index) { _ in }
            }
        }
    }
}
