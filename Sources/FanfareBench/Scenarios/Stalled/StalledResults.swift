import CommandSupport
import Histogram
import Primitives

struct StalledResults {
    struct Slice {
        var hasStalled: Bool
        var latencies: Histogram<UInt64>
        var deliveries: Int
        var time: Duration
    }

    var slices: [Slice] = []
    /// The growth of the server's resident memory from before stalled readers connected, in bytes.
    var growth: Int?
    /// The number of stalled readers, sampled during the slices that have them.
    private(set) var stalled = (sum: 0, sampleCount: 0)

    mutating func recordStalledCount(_ count: Int) {
        stalled.sum += count
        stalled.sampleCount += 1
    }

    /// The average number of stalled readers; 0 without samples.
    var stalledOnAverage: Double { Double(stalled.sum) / Double(max(stalled.sampleCount, 1)) }

    /// The latency over all slices with or without stalled readers.
    func latencies(withStalled: Bool) -> LatencyFigures {
        let histogram = slices.reduce(into: Histogram<UInt64>.latencies) { sum, slice in
            if slice.hasStalled == withStalled { sum.add(slice.latencies) }
        }
        return LatencyFigures(histogram)
    }

    func rate(withStalled: Bool) -> Double {
        let chosen = slices.filter { $0.hasStalled == withStalled }
        let time = chosen.reduce(0) { $0 + $1.time.inSeconds }
        return time > 0 ? Double(chosen.reduce(0) { $0 + $1.deliveries }) / time : 0
    }

    /// The ratio of a percentile with stalled readers to that without; nil if unknown.
    func ratio(_ percentile: KeyPath<LatencyFigures, UInt64>) -> Double? {
        let quiet = latencies(withStalled: false)[keyPath: percentile]
        guard quiet > 0 else { return nil }
        return Double(latencies(withStalled: true)[keyPath: percentile]) / Double(quiet)
    }

    /// The faults in one line; nil if there is none.
    ///
    /// The backlog and the allowed growth of memory are in bytes.
    func fault(backlog: Int, budget: Int, unclosedCount: Int) -> String? {
        let ratio = ratio(\.p99)
        return joined(
            [
                counted(
                    unclosedCount,
                    "stalled readers were not closed after \(mebibytes(backlog))"
                ),
                ratio.map { $0 > StalledCommand.ratioMax } ?? true
                    ? "p99 latency with stalled readers is \(ratioText(ratio)) times as high; "
                        + "\(StalledCommand.ratioMax) is allowed" : nil,
                excess(of: growth, over: budget, "the server's memory"),
            ],
            by: "; "
        )
    }

    @RowBuilder var rows: [Row] {
        let (alone, beside) = (rate(withStalled: false), rate(withStalled: true))
        let (p50, p99) = (ratio(\.p50), ratio(\.p99))
        Row.row(
            "deliveries per second",
            "\(grouped(Int(alone))) alone, \(grouped(Int(beside))) with stalled readers",
            ("alone_deliveries_per_s", .number(alone, places: 1)),
            ("beside_deliveries_per_s", .number(beside, places: 1))
        )
        Row.latency("alone", "alone_latency", latencies(withStalled: false))
        Row.latency("with stalled readers", "beside_latency", latencies(withStalled: true))
        Row.row(
            "with stalled : alone",
            "p50 \(ratioText(p50, places: 3)), p99 \(ratioText(p99, places: 3))",
            ("p50_ratio", .number(p50, places: 4)),
            ("p99_ratio", .number(p99, places: 4))
        )
        Row.row("p99 by round", p99ByRound.joined(separator: ", ") + " ms")
    }

    /// The p99 latencies of each pair of slices in milliseconds, `1.000 → 1.100`.
    private var p99ByRound: [String] {
        stride(from: 0, to: slices.count - 1, by: 2).map { index in
            slices[index...index + 1].sorted { !$0.hasStalled && $1.hasStalled }
                .map { decimal(Double(LatencyFigures($0.latencies).p99) / 1e6, places: 3) }
                .joined(separator: " → ")
        }
    }
}
