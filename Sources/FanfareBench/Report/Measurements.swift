import Histogram
import Net

extension Histogram<UInt64> {
    /// For nanoseconds: to the microsecond, up to an hour, with three digits.
    static var latencies: Histogram<UInt64> {
        Histogram(lowestDiscernibleValue: 1_000, highestTrackableValue: 3_600_000_000_000)
    }

    /// Records how long something took.
    ///
    /// - Parameters:
    ///   - due: When it was to begin, in nanoseconds of the monotonic clock.
    ///   - now: When it was done.
    mutating func record(from due: Int64, to now: MonotonicTime) {
        // The clock is one for all: what is negative came back with a wrong time.
        record(UInt64(Swift.max(now.nanoseconds - due, 0)))
    }
}

/// The figures of a latency histogram that are stated, in nanoseconds.
struct LatencyFigures: Equatable, Sendable {
    var p50: UInt64
    var p90: UInt64
    var p99: UInt64
    var p999: UInt64
    var max: UInt64

    /// Each with what people and programs call it.
    var named: [(label: String, name: String, value: UInt64)] {
        [
            ("p50", "p50", p50), ("p90", "p90", p90), ("p99", "p99", p99),
            ("p99.9", "p99_9", p999), ("max", "max", max),
        ]
    }
}

extension LatencyFigures {
    /// Takes the figures from a histogram of nanoseconds.
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

/// What the clients have read from their connections, all together.
final class Traffic {
    /// How often a connection had something to read.
    private(set) var readCount = 0
    /// How many bytes they were, within TLS.
    private(set) var byteCount = 0

    /// Counts what one read brought.
    func count(_ bytes: Int) {
        readCount += 1
        byteCount += bytes
    }
}

/// What the usage of a run say at one moment, or how far they went between two.
struct ResourceUsage: Equatable, Sendable {
    /// CPU time of the server in nanoseconds, if its process is known.
    var serverTime: Int64?
    /// CPU time of this process in nanoseconds.
    var generatorTime: Int64 = 0
    /// How often a client's connection had something to read.
    var readCount = 0
    /// How many bytes the clients have read.
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
