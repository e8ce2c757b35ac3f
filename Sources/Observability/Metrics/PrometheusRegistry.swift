public import CoreMetrics
import Synchronization

/// The metrics of a process, in the text format of Prometheus (version 0.0.4).
///
/// Supports counters, meters and gauges of whole numbers; distributions are not kept.
public final class PrometheusRegistry: MetricsFactory {
    /// A metric's name and labels: `name{key="value"}`.
    private struct Series: Hashable {
        let name: String
        let labels: String
    }

    private struct Entry {
        let cell: Cell
        let isCounter: Bool
    }

    private let entries = Mutex<[Series: Entry]>([:])
    private let helpTexts: [String: String]

    /// Creates a registry without metrics.
    ///
    /// - Parameter helpTexts: The meanings of metrics by name, each in one line.
    public init(helpTexts: [String: String] = [:]) { self.helpTexts = helpTexts }

    /// All metrics, grouped and sorted by name.
    public var text: String {
        let entries = entries.withLock { $0 }
        var text = ""
        var last = ""
        let ordered = entries.sorted {
            ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels)
        }
        for (series, entry) in ordered {
            if series.name != last {
                last = series.name
                if let help = helpTexts[series.name] {
                    text += "# HELP \(series.name) \(Self.escaped(help))\n"
                }
                text += "# TYPE \(series.name) \(entry.isCounter ? "counter" : "gauge")\n"
            }
            text += "\(series.name)\(series.labels) \(entry.cell.value)\n"
        }
        return text
    }

    /// Removes the series of a metric.
    ///
    /// - Parameters:
    ///   - name: The metric's name.
    ///   - labels: The labels of each series that remains.
    func remove(_ name: String, except labels: [[(String, String)]]) {
        let kept = Set(labels.map(Self.text))
        entries.withLock { entries in
            entries = entries.filter { $0.key.name != name || kept.contains($0.key.labels) }
        }
    }

    private func cell(_ name: String, _ labels: [(String, String)], isCounter: Bool) -> Cell {
        let series = Series(name: name, labels: Self.text(of: labels))
        return entries.withLock { entries in
            if let entry = entries[series] { return entry.cell }
            let cell = Cell()
            entries[series] = Entry(cell: cell, isCounter: isCounter)
            return cell
        }
    }

    private static func text(of labels: [(String, String)]) -> String {
        guard !labels.isEmpty else { return "" }
        let pairs = labels.map { name, value in
            "\(name)=\"\(escaped(value).replacing("\"", with: "\\\""))\""
        }
        return "{\(pairs.joined(separator: ","))}"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    /// Returns the counter with this name and these dimensions; creates it if needed.
    public func makeCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any CounterHandler {
        cell(label, dimensions, isCounter: true)
    }

    /// Returns the meter with this name and these dimensions; creates it if needed.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, dimensions, isCounter: false)
    }

    /// Returns the gauge with this name and these dimensions; creates it if needed.
    ///
    /// Of a distribution the last value is kept.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        cell(label, dimensions, isCounter: false)
    }

    /// Returns the timer with this name and these dimensions; its last value is kept, in nanoseconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, dimensions, isCounter: false)
    }

    /// Does nothing: a counter that is created again continues.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Removes a meter.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    /// Removes a gauge.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Removes a timer.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: any AnyObject) {
        entries.withLock { entries in entries = entries.filter { $0.value.cell !== handler } }
    }
}

/// A number that any thread may change.
private final class Cell: CounterHandler, MeterHandler, RecorderHandler, TimerHandler, Sendable {
    private let number = Atomic<Int64>(0)

    var value: Int64 { number.load(ordering: .relaxed) }

    func increment(by amount: Int64) { number.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { number.store(0, ordering: .relaxed) }
    func set(_ value: Int64) { number.store(value, ordering: .relaxed) }
    func set(_ value: Double) { set(Self.whole(value)) }
    func increment(by amount: Double) { increment(by: Self.whole(amount)) }
    func decrement(by amount: Double) { increment(by: -Self.whole(amount)) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
    func recordNanoseconds(_ duration: Int64) { set(duration) }

    /// The nearest whole number; 0 if there is none.
    private static func whole(_ value: Double) -> Int64 { Int64(exactly: value.rounded()) ?? 0 }
}
