import Net

/// The overview of `fanfare top`.
struct TopScreen {
    /// The address of the metrics.
    let url: String
    /// Why the metrics could not be read; cleared by the next sample.
    var problem: String?
    private var last: (sample: MetricsSample, time: MonotonicTime)?
    private var elapsed: Double?
    private var former: MetricsSample?

    init(url: String) { self.url = url }

    /// Shows a sample; rates are from the one before.
    mutating func show(_ sample: MetricsSample, at now: MonotonicTime) {
        problem = nil
        if let last {
            former = last.sample
            elapsed = max(last.time.duration(to: now) / .seconds(1), 0.001)
        }
        last = (sample, now)
    }

    /// The lines.
    var text: String {
        guard let sample = last?.sample else { return problem ?? "" }
        let version = sample.label("version", of: "fanfare_build_info").map { " \($0)" } ?? ""
        var lines = ["fanfare\(version)  \(url)", ""]
        lines += [
            row("connections", count(sample, "fanfare_connections"), turnover(sample)),
            row("channels", count(sample, "fanfare_channels")),
            row("messages in", rate(sample, "fanfare_messages_received_total")),
            row("events", rate(sample, "fanfare_events_published_total")),
            row("deliveries", rate(sample, "fanfare_events_delivered_total")),
            row("queued", bytes(sample, "fanfare_queued_bytes"), dropped(sample)),
            row("unprocessed", bytes(sample, "fanfare_inbound_bytes")),
        ]
        if let webhooks = sample["fanfare_webhooks_queued"], webhooks > 0 {
            lines.append(row("webhooks", count(sample, "fanfare_webhooks_queued"), "waiting"))
        }
        lines += limits(sample)
        if let problem { lines += ["", problem] }
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ value: String, _ detail: String = "") -> String {
        let name = name + String(repeating: " ", count: max(0, 14 - name.count))
        let value = String(repeating: " ", count: max(0, 16 - value.count)) + value
        return detail.isEmpty ? "  \(name)\(value)" : "  \(name)\(value)  \(detail)"
    }

    // MARK: - Values

    private func count(_ sample: MetricsSample, _ name: String) -> String {
        sample[name].map { Self.grouped($0) } ?? "–"
    }

    /// The growth of a counter in a second; `nil` without an earlier sample of the same run of the broker.
    private func growth(_ sample: MetricsSample, _ name: String) -> Double? {
        guard let elapsed, let before = former?[name], let now = sample[name], now >= before else {
            return nil
        }
        return (now - before) / elapsed
    }

    private func rate(_ sample: MetricsSample, _ name: String) -> String {
        growth(sample, name).map { "\(Self.grouped($0))/s" } ?? "–"
    }

    private func bytes(_ sample: MetricsSample, _ name: String) -> String {
        guard let value = sample[name] else { return "–" }
        for (unit, size) in [("GiB", 1_073_741_824.0), ("MiB", 1_048_576), ("KiB", 1_024)]
        where value >= size { return "\((value / size * 10).rounded() / 10) \(unit)" }
        return "\(Self.grouped(value)) B"
    }

    private func turnover(_ sample: MetricsSample) -> String {
        guard let opened = growth(sample, "fanfare_connections_opened_total"),
            let closed = growth(sample, "fanfare_connections_closed_total")
        else { return "" }
        return "+\(Self.grouped(opened))/s  -\(Self.grouped(closed))/s"
    }

    private func dropped(_ sample: MetricsSample) -> String {
        guard let dropped = growth(sample, "fanfare_queues_dropped_total"), dropped > 0 else {
            return ""
        }
        return "\(Self.grouped(dropped))/s closed as too slow"
    }

    /// The limits that were reached since the sample before.
    private func limits(_ sample: MetricsSample) -> [String] {
        let before = former?.series.filter { $0.name == "fanfare_limit_hits_total" } ?? []
        let hits = sample.series.filter { $0.name == "fanfare_limit_hits_total" }
            .compactMap { series -> String? in
                guard let former = before.first(where: { $0.labels == series.labels }),
                    series.value > former.value
                else { return nil }
                let limit = series.labels.split(separator: "\"").dropFirst().first ?? ""
                return "\(limit) \(Self.grouped(series.value - former.value))"
            }
        return hits.isEmpty ? [] : ["", "  limits reached: " + hits.joined(separator: ", ")]
    }

    /// A whole number with commas between thousands.
    private static func grouped(_ value: Double) -> String {
        var digits = Array("\(Int(value.rounded()))")
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return String(digits)
    }
}
