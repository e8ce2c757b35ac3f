import Glibc
import Logging
import Primitives
import Synchronization
import Testing

@testable import ServerLog

@Suite("Log: the format of a line") struct LogFormTests {
    let record = LogRecord(
        time: 1_795_253_603_042_999_999,
        level: .info,
        label: "broker",
        message: "listening",
        fields: [("address", "127.0.0.1:6001"), ("note", "two words")]
    )

    func text(_ formatter: some LogFormatter, _ record: LogRecord) -> String {
        var bytes: [UInt8] = []
        formatter.append(record, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func textIsAligned() {
        #expect(
            text(TextLogFormatter(isColored: false), record)
                == "09:33:23.042 info     broker   listening  address=127.0.0.1:6001 "
                + "note=\"two words\"\n"
        )
    }

    @Test func textIsColouredOnATerminal() {
        var record = record
        record.level = .error
        record.fields = [("n", "1")]
        #expect(
            text(TextLogFormatter(isColored: true), record)
                == "\u{1B}[2m09:33:23.042\u{1B}[0m \u{1B}[31merror   \u{1B}[0m broker   listening  "
                + "\u{1B}[2mn=\u{1B}[0m1\n"
        )
    }

    @Test func textCannotBeForged() {
        var record = record
        record.message = "a\nb\u{1B}[2J\u{7F}\t\r\u{9B}"
        record.fields = [("na\nme", "x\ny")]
        #expect(
            text(TextLogFormatter(isColored: false), record)
                == "09:33:23.042 info     broker   a\\nb\\u{1b}[2J\\u{7f}\\t\\r\\u{9b}  "
                + "na\\nme=x\\ny\n"
        )
    }

    @Test func jsonIsOneObjectALine() {
        var record = record
        record.message = "quote \" slash \\ line \n bell \u{7} é 🎺"
        record.fields = [
            ("address", "127.0.0.1:6001"), ("count", .stringConvertible(3)),
            ("list", ["a", ["b": "c", "a": "d"]]),
        ]
        #expect(
            text(JSONLogFormatter(), record)
                == #"{"time":"2026-11-21T09:33:23.042Z","level":"info","label":"broker","#
                + #""message":"quote \" slash \\ line \n bell \u0007 é 🎺","#
                + #""metadata":{"address":"127.0.0.1:6001","count":"3","#
                + #""list":["a",{"a":"d","b":"c"}]}}"# + "\n"
        )
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
        (951_868_799, "2000-02-29T23:59:59.000Z"), (1_709_164_800, "2024-02-29T00:00:00.000Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000Z"), (1_735_689_599, "2024-12-31T23:59:59.000Z"),
    ])
    func time(seconds: Int64, expected: String) {
        #expect(Timestamp(seconds * 1_000_000_000).text == expected)
    }

    @Test func timeAgreesWithTheLibraryOverTwoCenturies() {
        for day in stride(from: time_t(0), to: 74_000, by: 1) {
            var seconds = day * 86_400 + 3_723
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let expected = [parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday]
            let digits = Timestamp(Int64(seconds) * 1_000_000_000).text.prefix(10)
            #expect(digits.split(separator: "-").compactMap { Int32($0) } == expected)
        }
    }
}

@Suite("Log: the queue") struct LogQueueTests {
    /// The output of a queue, and a gate that blocks its thread.
    final class Output: Sendable {
        let bytes = Mutex<[UInt8]>([])
        let gate = Mutex<Void>(())
        var lines: [String] {
            bytes.withLock { String(decoding: $0, as: UTF8.self) }
                .split(separator: "\n").map(String.init)
        }
    }

    struct MessageOnly: LogFormatter {
        func append(_ record: LogRecord, to bytes: inout [UInt8]) {
            bytes += "\(record.message)\n".utf8
        }
    }

    func record(_ message: String) -> LogRecord {
        LogRecord(time: 0, level: .info, label: "test", message: message, fields: [])
    }

    @Test func recordsAreWrittenInOrder() {
        let output = Output()
        let queue = LogQueue(formatter: MessageOnly()) { bytes in
            output.bytes.withLock { $0 += bytes }
        }
        for number in 0..<5_000 { queue.add(record("\(number)")) }
        queue.flush()
        queue.finish()
        #expect(output.lines == (0..<5_000).map { "\($0)" })
    }

    @Test func aFullQueueDropsAndLogsTheCount() {
        let output = Output()
        let queue = LogQueue(capacity: 10, formatter: MessageOnly()) { bytes in
            output.gate.withLock { _ in }
            output.bytes.withLock { $0 += bytes }
        }
        // While the gate is shut the thread holds at most one batch, and ten records are queued.
        output.gate.withLock { _ in
            for number in 0..<1_000 { queue.add(record("\(number)")) }
        }
        queue.flush()
        queue.finish()
        let lines = output.lines
        let losses = lines.filter { $0.contains("dropped") }
        let dropped = losses.compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +)
        #expect(lines.count - losses.count + dropped == 1_000)
        #expect(dropped >= 980)
        #expect(lines.first == "0")
    }

    @Test func manyThreadsMayLog() async {
        let output = Output()
        let queue = LogQueue(formatter: MessageOnly()) { bytes in
            output.bytes.withLock { $0 += bytes }
        }
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { for number in 0..<500 { queue.add(record("\(task) \(number)")) } }
            }
        }
        queue.flush()
        queue.finish()
        let lines = output.lines
        #expect(lines.count == 4_000)
        for task in 0..<8 {
            let own = lines.filter { $0.hasPrefix("\(task) ") }
            #expect(own == (0..<500).map { "\(task) \($0)" })
        }
    }
}

@Suite("Log: through swift-log") struct QueuedLogTests {
    @Test func aLoggerWritesToTheDescriptor() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let log = QueuedLog(to: ends[1], format: .auto, level: .notice)
        var logger = log.logger(label: "broker")
        logger[metadataKey: "app"] = "1"
        logger.info("below the level")
        logger.warning("slow reader", metadata: ["socket": "1.2", "app": "2"])
        log.finish()
        close(ends[1])
        var bytes = [UInt8](repeating: 0, count: 1_000)
        let text = String(decoding: bytes[..<read(ends[0], &bytes, bytes.count)], as: UTF8.self)
        // A pipe is not a terminal: the format is JSON, one line per record.
        #expect(text.hasPrefix("{\"time\":\"20"))
        #expect(
            text.hasSuffix(
                #"Z","level":"warning","label":"broker","message":"slow reader","#
                    + #""metadata":{"app":"2","socket":"1.2"}}"# + "\n"
            )
        )
        #expect(text.filter { $0 == "\n" }.count == 1)
    }

    @Test func theLevelChangesForLoggersThatAreThereAlready() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let log = QueuedLog(to: ends[1], format: .json, level: .warning)
        let logger = log.logger(label: "broker")
        var ownLogger = log.logger(label: "own")
        ownLogger.logLevel = .error
        logger.info("one")
        log.level = .debug
        logger.debug("two")
        ownLogger.warning("three")
        ownLogger.error("four")
        log.level = .error
        logger.warning("five")
        #expect(log.level == .error)
        log.finish()
        close(ends[1])
        var bytes = [UInt8](repeating: 0, count: 1_000)
        let text = String(decoding: bytes[..<read(ends[0], &bytes, bytes.count)], as: UTF8.self)
        #expect(text.matches(of: /"message":"(\w+)"/).map(\.1) == ["two", "four"])
    }
}
