import RESP
import TestRedis
import Testing

@Suite("Writing commands") struct RESPWriterTests {
    @Test func writesArguments() {
        var writer = RESPWriter()
        writer.begin(argumentCount: 7)
        writer.argument(literal: "SET")
        writer.argument("ключ")
        writer.argument([0, 13, 10, 255])
        writer.argument(0)
        writer.argument(-120)
        writer.argument("")
        #expect(!writer.isComplete)
        writer.argument(length: 3) { $0 += Array("abc".utf8) }
        #expect(writer.isComplete)
        let expected =
            Array("*7\r\n$3\r\nSET\r\n$8\r\nключ\r\n$4\r\n".utf8) + [0, 13, 10, 255]
            + Array("\r\n$1\r\n0\r\n$4\r\n-120\r\n$0\r\n\r\n$3\r\nabc\r\n".utf8)
        #expect(writer.bytes == expected)
    }

    @Test func isReadBackAsArrays() {
        var writer = RESPWriter()
        let numbers = [0, 9, 10, 99, 100, Int.max, Int.min, -1]
        writer.begin(argumentCount: numbers.count)
        for number in numbers { writer.argument(number) }
        writer.begin(argumentCount: 1)
        writer.argument(literal: "PING")
        let reading = Reading([writer.bytes])
        #expect(
            reading.values == [
                .list(.array, numbers.map { .text(.bulkString, "\($0)") }),
                .list(.array, [.text(.bulkString, "PING")]),
            ]
        )
    }

    @Test func trapsWhenAnArgumentIsMissingOrTooMany() async {
        await #expect(processExitsWith: .failure) {
            var writer = RESPWriter()
            writer.begin(argumentCount: 2)
            writer.argument(literal: "GET")
            writer.begin(argumentCount: 1)
        }
        await #expect(processExitsWith: .failure) {
            var writer = RESPWriter()
            writer.begin(argumentCount: 1)
            writer.argument(literal: "GET")
            writer.argument("key")
        }
    }
}
