import Histogram
import Net

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
