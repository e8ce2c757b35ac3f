import CommandSupport
import Histogram
import Primitives

typealias Row = BenchReport.Row

/// Collects the rows of a report.
@resultBuilder enum RowBuilder {
    static func buildExpression(_ row: Row) -> [Row] { [row] }
    static func buildExpression(_ rows: [Row]) -> [Row] { rows }
    static func buildBlock(_ parts: [Row]...) -> [Row] { parts.flatMap { $0 } }
    static func buildOptional(_ rows: [Row]?) -> [Row] { rows ?? [] }
    static func buildArray(_ parts: [[Row]]) -> [Row] { parts.flatMap { $0 } }
}

extension Row {
    static func row(_ label: String, _ text: String, _ members: BenchReport.Member...) -> Self {
        Self(label: label, text: text, members: members)
    }

    static func count(_ label: String, _ name: String, _ count: Int) -> Self {
        .row(label, grouped(count), (name, .integer(count)))
    }

    /// The rate of what a label and a JSON name say, and the time in which it was measured.
    static func rate(_ label: String, _ name: String, _ count: Int, in time: Duration) -> Self {
        let rate = time > .zero ? Double(count) / time.inSeconds : 0
        return .row(
            "\(label) per second",
            "\(grouped(Int(rate))) in \(seconds(time))",
            ("\(name)_per_s", .number(rate, places: 1)),
            ("duration_s", .number(time.inSeconds, places: 6))
        )
    }

    static func time(_ label: String, _ name: String, _ time: Duration) -> Self {
        .row(label, seconds(time), ("\(name)_s", .number(time.inSeconds, places: 6)))
    }

    static func latency(_ label: String, _ name: String, _ histogram: Histogram<UInt64>) -> [Self] {
        latency(label, name, LatencyFigures(histogram))
    }

    static func latency(_ label: String, _ name: String, _ figures: LatencyFigures) -> [Self] {
        let blank = String(repeating: " ", count: label.count)
        var rows = figures.named.enumerated().map { index, figure in
            let milliseconds = decimal(Double(figure.value) / 1e6, places: 3)
            return Row.row("\(index == 0 ? label : blank) \(figure.label)", "\(milliseconds) ms")
        }
        rows[0].members = [("\(name)_us", .latency(figures))]
        return rows
    }

    static func deliveries(
        _ count: Int,
        of expected: Int,
        _ label: String = "deliveries",
        _ name: String = "deliveries"
    ) -> Self {
        .row(
            label,
            "\(grouped(count)) of \(grouped(expected))",
            (name, .integer(count)),
            ("expected", .integer(expected))
        )
    }

    /// The deliveries received, and their faults.
    static func deliveries(
        _ tracker: DeliveryTracker,
        _ label: String = "deliveries",
        _ name: String = "deliveries"
    ) -> [Self] {
        [
            .deliveries(tracker.deliveries, of: tracker.expected, label, name),
            .count("lost", "lost", tracker.missing),
            .count("duplicated", "duplicated", tracker.duplicated),
            .count("out of order", "out_of_order", tracker.outOfOrder),
        ]
    }

    /// The CPU time of server and generator in microseconds per unit of work, of which there were a number.
    static func cpu(
        per unit: String,
        _ count: Int,
        _ usage: ResourceUsage,
        of server: ServerProcess?
    ) -> [Self] {
        func micros(_ nanoseconds: Int64) -> Double {
            Double(nanoseconds) / 1e3 / Double(max(count, 1))
        }
        func text(_ number: Double) -> String { "\(decimal(number, places: 3)) µs" }
        let ids = server?.ids ?? []
        let names = ids.map(String.init).joined(separator: ", ")
        let named =
            ids.isEmpty
            ? "unknown; set the server's process with --pid"
            : "\(ids.count == 1 ? "process" : "processes") \(names)"
        let serverTime = usage.serverTime.map(micros)
        let generatorTime = micros(usage.generatorTime)
        return [
            .row(
                "server CPU per \(unit)",
                serverTime.map { "\(text($0)) (\(named))" } ?? named,
                ("server_cpu_us_per_\(unit)", .number(serverTime, places: 4)),
                ("server_pids", .integers(ids.map(Int.init)))
            ),
            .row(
                "generator CPU per \(unit)",
                text(generatorTime),
                ("generator_cpu_us_per_\(unit)", .number(generatorTime, places: 4))
            ),
        ]
    }

    /// The reads and bytes of the clients, per unit of work.
    static func traffic(per unit: String, _ count: Int, _ usage: ResourceUsage) -> Self {
        let reads = Double(usage.readCount) / Double(max(count, 1))
        let bytes = Double(usage.byteCount) / Double(max(count, 1))
        return .row(
            "read per \(unit)",
            "\(decimal(bytes, places: 1)) bytes in \(decimal(reads, places: 3)) reads",
            ("bytes_per_\(unit)", .number(bytes, places: 2)),
            ("reads_per_\(unit)", .number(reads, places: 4))
        )
    }

    /// The connections that ended, by code; what the JSON names begin with, and further members.
    static func disconnections(
        _ label: String,
        _ prefix: String,
        _ counts: DisconnectionCounts,
        _ members: BenchReport.Member...
    ) -> Self {
        Self(label: label, text: counts.description, members: members + counts.members(prefix))
    }

    /// The server's memory; no row if it cannot be read.
    static func memory(of server: ServerProcess?) -> [Self] {
        guard let bytes = server?.memory() else { return [] }
        return [.row("server memory", mebibytes(bytes), ("server_memory_bytes", .integer(bytes)))]
    }
}

/// A ratio that may be unknown.
func ratioText(_ ratio: Double?, places: Int = 2) -> String {
    ratio.map { decimal($0, places: places) } ?? "unknown"
}

func seconds(_ duration: Duration) -> String { "\(decimal(duration.inSeconds, places: 3)) s" }
