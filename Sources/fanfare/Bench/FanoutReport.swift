import Histogram
import PusherProtocol

/// What a fan-out benchmark found.
struct FanoutReport: Sendable {
    /// What was done.
    var plan: FanoutPlan
    /// What was sent and received.
    var tally: Tally
    /// How long deliveries took.
    var latency: LatencyFigures
    /// From the first connection to the last acknowledgement.
    var connectingTime: Duration
    /// From when the first event was due to the last delivery.
    var deliveringTime: Duration
    /// The server's processes, if they are known.
    var server: ServerProcess?
    /// CPU time of the server while it delivered, in nanoseconds.
    var serverTime: Int64?
    /// CPU time of this process meanwhile, in nanoseconds.
    var readerTime: Int64
    /// Whether the run was given up because nothing moved any more.
    var isTimedOut: Bool

    /// What is wrong, in a line; nil if every delivery arrived once and in order.
    var fault: String? {
        guard isTimedOut || !tally.isFaultless else { return nil }
        let faults = [
            tally.missing > 0 ? "\(grouped(tally.missing)) lost" : nil,
            tally.duplicated > 0 ? "\(grouped(tally.duplicated)) duplicated" : nil,
            tally.outOfOrder > 0 ? "\(grouped(tally.outOfOrder)) out of order" : nil,
        ].compactMap { $0 }
        let what = faults.isEmpty ? "an event was not answered" : faults.joined(separator: ", ")
        guard isTimedOut else { return what }
        return what + ": nothing arrived any more for \(plan.patience.inSeconds) s"
    }

    /// Deliveries a second; 0 if there was none.
    var deliveriesPerSecond: Double {
        deliveringTime > .zero ? Double(tally.deliveries) / deliveringTime.inSeconds : 0
    }

    /// Microseconds of CPU time a delivery.
    private func perDelivery(_ nanoseconds: Int64) -> Double {
        Double(nanoseconds) / 1e3 / Double(max(tally.deliveries, 1))
    }

    // MARK: For people

    /// The report as a table, without a line break at its end.
    var table: String {
        let rows: [(String, String)] = [
            ("deliveries", "\(grouped(tally.deliveries)) of \(grouped(tally.expected))"),
            ("lost", grouped(tally.missing)),
            ("duplicated", grouped(tally.duplicated)),
            ("out of order", grouped(tally.outOfOrder)),
            (
                "deliveries per second",
                "\(grouped(Int(deliveriesPerSecond))) in \(seconds(deliveringTime))"
            ),
            ("latency p50", milliseconds(latency.p50)),
            ("        p90", milliseconds(latency.p90)),
            ("        p99", milliseconds(latency.p99)),
            ("        p99.9", milliseconds(latency.p999)),
            ("        max", milliseconds(latency.max)),
            ("server CPU per delivery", serverText),
            ("reader CPU per delivery", "\(decimal(perDelivery(readerTime), places: 3)) µs"),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        let lines = rows.map { name, value in
            "  \(name)\(String(repeating: " ", count: width - name.count))  \(value)"
        }
        return ([headline] + lines).joined(separator: "\n")
    }

    private var headline: String {
        let pace =
            switch plan.pace {
            case .window(let count): "\(grouped(count)) outstanding"
            case .rate(let rate): "\(decimal(rate, places: 1)) a second"
            }
        return """
            \(plan.target.url), channel \(plan.channel.text)
            \(grouped(plan.subscriberCount)) subscribers (connected in \(seconds(connectingTime))) \
            × \(grouped(plan.messageCount)) events of \(grouped(plan.dataLength)) bytes, \(pace)
            """
    }

    private var serverText: String {
        guard let server, let serverTime else {
            return "unknown; give the server's process with --pid"
        }
        let ids = server.ids.map(String.init).joined(separator: ", ")
        let noun = server.ids.count == 1 ? "process" : "processes"
        return "\(decimal(perDelivery(serverTime), places: 3)) µs (\(noun) \(ids))"
    }

    private func milliseconds(_ nanoseconds: UInt64) -> String {
        "\(decimal(Double(nanoseconds) / 1e6, places: 3)) ms"
    }

    private func seconds(_ duration: Duration) -> String {
        "\(decimal(duration.inSeconds, places: 3)) s"
    }

    // MARK: For programs

    /// The report as one JSON object; times are in the unit that a name ends with.
    var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("benchmark")
        json.string("fanout")
        json.name("ok")
        json.boolean(fault == nil)
        json.name("url")
        json.string(plan.target.url)
        json.name("channel")
        json.string(plan.channel.text)
        let counts = [
            ("subscribers", plan.subscriberCount), ("messages", plan.messageCount),
            ("size", plan.dataLength), ("deliveries", tally.deliveries),
            ("expected", tally.expected), ("lost", tally.missing),
            ("duplicated", tally.duplicated), ("out_of_order", tally.outOfOrder),
        ]
        for (name, count) in counts {
            json.name(name)
            json.integer(count)
        }
        switch plan.pace {
        case .window(let count):
            json.name("window")
            json.integer(count)
        case .rate(let rate): json.number("rate", rate, places: 3)
        }
        json.name("timed_out")
        json.boolean(isTimedOut)
        json.number("connecting_s", connectingTime.inSeconds, places: 6)
        json.number("delivering_s", deliveringTime.inSeconds, places: 6)
        json.number("deliveries_per_s", deliveriesPerSecond, places: 1)
        json.name("latency_us")
        json.beginObject()
        for (name, value) in latency.named { json.number(name, Double(value) / 1e3, places: 1) }
        json.endObject()
        json.name("server_pids")
        json.beginArray()
        for id in server?.ids ?? [] { json.integer(Int(id)) }
        json.endArray()
        let serverCPU = serverTime.map { perDelivery($0) }
        json.number("server_cpu_us_per_delivery", serverCPU, places: 4)
        json.number("reader_cpu_us_per_delivery", perDelivery(readerTime), places: 4)
        json.endObject()
        return json.bytes
    }
}

/// The figures of a latency histogram that are stated, in nanoseconds.
struct LatencyFigures: Equatable, Sendable {
    var p50: UInt64
    var p90: UInt64
    var p99: UInt64
    var p999: UInt64
    var max: UInt64

    /// Each with its name in JSON.
    var named: [(String, UInt64)] {
        [("p50", p50), ("p90", p90), ("p99", p99), ("p99_9", p999), ("max", max)]
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

extension JSONWriter {
    /// Writes a member that is a decimal number, or null.
    fileprivate mutating func number(_ name: String, _ number: Double?, places: Int) {
        self.name(name)
        guard let number else { return null() }
        verbatim(Array(decimal(number, places: places, grouping: false).utf8))
    }
}
