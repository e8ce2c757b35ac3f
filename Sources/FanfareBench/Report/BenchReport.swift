import CommandSupport
import Histogram
import Net
import PusherProtocol

/// The results of a benchmark, as a table and as JSON.
struct BenchReport: Sendable {
    /// A member of the JSON object; the name ends with the unit.
    typealias Member = (name: String, value: Value)

    /// A value in JSON.
    enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int)
        /// A number with this many decimal places; null if unknown.
        case number(Double?, places: Int)
        case integers([Int])
        /// Percentiles in microseconds.
        case latency(LatencyFigures)
        case null
    }

    /// A line of the table, and its members of the JSON object.
    struct Row: Sendable {
        var label: String
        var text: String
        var members: [Member] = []
    }

    var benchmark: String
    var url: String
    var headline: String
    var parameters: [Member]
    var rows: [Row]
    var fault: String?

    /// Incremented when a member of the JSON object is removed or changes its meaning.
    static let formatVersion = 1

    /// The table, without a line feed at its end.
    var table: String {
        let width = rows.map(\.label.count).max() ?? 0
        let lines = rows.map { row in
            "  \(row.label)\(String(repeating: " ", count: width - row.label.count))  \(row.text)"
        }
        return (["\(benchmark): \(url)", headline] + lines).joined(separator: "\n")
    }

    var json: [UInt8] {
        var json = JSONWriter()
        json.beginReport(benchmark, fault: fault)
        json.member("url", .text(url))
        json.name("parameters")
        json.beginObject()
        for (name, value) in parameters { json.member(name, value) }
        json.endObject()
        for (name, value) in rows.flatMap(\.members) { json.member(name, value) }
        json.endObject()
        return json.bytes
    }

    static func json(_ benchmark: String, failure: BenchError) -> [UInt8] {
        var json = JSONWriter()
        json.beginReport(benchmark, fault: "\(failure)")
        json.endObject()
        return json.bytes
    }
}

extension BenchReport {
    /// The JSON object of `bench all`, with those of the benchmarks.
    static func json(of results: [[UInt8]], isFaultless: Bool) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("benchmark", .text("all"))
        json.member("format_version", .integer(formatVersion))
        json.name("ok")
        json.boolean(isFaultless)
        json.name("results")
        json.beginArray()
        for result in results { json.verbatim(result) }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func beginReport(_ benchmark: String, fault: String?) {
        beginObject()
        member("benchmark", .text(benchmark))
        member("format_version", .integer(BenchReport.formatVersion))
        name("ok")
        boolean(fault == nil)
        member("fault", fault.map { .text($0) } ?? .null)
    }

    fileprivate mutating func member(_ name: String, _ value: BenchReport.Value) {
        self.name(name)
        switch value {
        case .text(let text): string(text)
        case .integer(let number): integer(number)
        case .number(let number?, let places):
            verbatim(Array(decimal(number, places: places, grouping: false).utf8))
        case .number(nil, _), .null: null()
        case .integers(let numbers):
            beginArray()
            for number in numbers { integer(number) }
            endArray()
        case .latency(let figures):
            beginObject()
            for (_, name, nanoseconds) in figures.named {
                member(name, .number(Double(nanoseconds) / 1e3, places: 1))
            }
            endObject()
        }
    }
}

extension Histogram<UInt64> {
    /// A histogram of nanoseconds, from a microsecond to an hour, with three significant digits.
    static var latencies: Histogram<UInt64> {
        Histogram(lowestDiscernibleValue: 1_000, highestTrackableValue: 3_600_000_000_000)
    }

    /// Records a duration from a time in nanoseconds of the monotonic clock.
    mutating func record(from due: Int64, to now: MonotonicTime) {
        // A server that returns a wrong time can make it negative.
        record(UInt64(Swift.max(now.nanoseconds - due, 0)))
    }
}

/// The percentiles in a report, in nanoseconds.
struct LatencyFigures: Equatable, Sendable {
    var p50: UInt64
    var p90: UInt64
    var p99: UInt64
    var p999: UInt64
    var max: UInt64

    /// The percentiles with their labels and JSON names.
    var named: [(label: String, name: String, value: UInt64)] {
        [
            ("p50", "p50", p50), ("p90", "p90", p90), ("p99", "p99", p99),
            ("p99.9", "p99_9", p999), ("max", "max", max),
        ]
    }
}

extension LatencyFigures {
    init(_ histogram: Histogram<UInt64>) {
        self.init(
            p50: histogram.valueAtPercentile(50),
            p90: histogram.valueAtPercentile(90),
            p99: histogram.valueAtPercentile(99),
            p999: histogram.valueAtPercentile(99.9),
            max: histogram.maxRecorded
        )
    }
}

/// CPU time and traffic, so far or between two moments.
struct ResourceUsage: Equatable, Sendable {
    /// The server's CPU time in nanoseconds, if its process is known.
    var serverTime: Int64?
    /// This process's CPU time in nanoseconds.
    var generatorTime: Int64 = 0
    var readCount = 0
    var byteCount = 0

    static func - (after: ResourceUsage, before: ResourceUsage) -> ResourceUsage {
        ResourceUsage(
            serverTime: after.serverTime.flatMap { after in before.serverTime.map { after - $0 } },
            generatorTime: after.generatorTime - before.generatorTime,
            readCount: after.readCount - before.readCount,
            byteCount: after.byteCount - before.byteCount
        )
    }
}
