import CommandSupport
import Primitives

struct OverloadResults {
    struct Phase: Equatable {
        var deliveries = 0
        var time = Duration.zero
        var usage = ResourceUsage()

        /// Deliveries per second; 0 for no time.
        var rate: Double { time > .zero ? Double(deliveries) / time.inSeconds : 0 }

        static func - (after: Phase, before: Phase) -> Phase {
            Phase(
                deliveries: after.deliveries - before.deliveries,
                time: after.time - before.time,
                usage: after.usage - before.usage
            )
        }
    }

    /// The phase with a window: the server's capacity.
    var window = Phase()
    /// The phase without a window.
    var overload = Phase()
    var latency: LatencyFigures?
    /// Events answered 200, without a window.
    var acceptedCount = 0
    /// Events answered 503, without a window.
    var refusedCount = 0
    /// Unanswered events when the publishers stopped.
    var unansweredCount = 0
    /// The time from then until all answers and deliveries had arrived.
    var drainTime = Duration.zero
    /// Whether answers or deliveries stayed out for the stall timeout.
    var isStuck = false
    var unrelated: UnrelatedChannel.Results?

    /// The ratio of the unrelated channel's p99 latency during the overload to that in the quiet phase; nil if unknown.
    var latencyRatio: Double? {
        guard let unrelated, let quiet = p99(.quiet), quiet > 0, unrelated.fault == nil,
            let loaded = p99(.overload)
        else { return nil }
        return Double(loaded) / Double(quiet)
    }

    /// The ratio of the deliveries per second without a window to those with one; nil if unknown.
    var rateShare: Double? { window.rate > 0 ? overload.rate / window.rate : nil }

    private func p99(_ loadPhase: UnrelatedChannel.LoadPhase) -> UInt64? {
        unrelated?.latencies[loadPhase.rawValue].p99
    }

    /// The faults, each in one line; nil stands for no budget of memory in bytes, or an unknown growth.
    func faults(budget: Int?, growth: Int?) -> [String] {
        let (share, ratio) = (rateShare, latencyRatio)
        return [
            share.map { $0 < OverloadCommand.rateShareMin } ?? true
                ? "deliveries per second are \(ratioText(share)) times those with a window; "
                    + "\(OverloadCommand.rateShareMin) is the minimum" : nil,
            unrelated?.fault.map { "the unrelated channel: \($0)" },
            unrelated.flatMap {
                counted($0.refusedCount, "events of the unrelated channel were answered 503")
            },
            ratio.map { $0 > OverloadCommand.latencyRatioMax } ?? true
                ? "the unrelated channel's p99 latency is \(ratioText(ratio)) times that without load; "
                    + "\(OverloadCommand.latencyRatioMax) is allowed" : nil,
            excess(of: growth, over: budget, "the server's memory"),
        ].compactMap { $0 }
    }

    @RowBuilder func rows(of server: ServerProcess?) -> [Row] {
        Row.rate("deliveries with a window", "window_deliveries", window)
        Row.rate("deliveries without one", "overload_deliveries", overload)
        Row.row(
            "ratio without : with",
            ratioText(rateShare),
            ("rate_share", .number(rateShare, places: 4))
        )
        Row.row(
            "answers without one",
            "\(grouped(acceptedCount)) × 200, \(grouped(refusedCount)) × 503",
            ("overload_accepted", .integer(acceptedCount)),
            ("overload_refused", .integer(refusedCount))
        )
        Row.row(
            "after the publishers stopped",
            """
            \(grouped(unansweredCount)) answers outstanding; all was delivered \
            \(seconds(drainTime)) later
            """,
            ("unanswered_at_stop", .integer(unansweredCount)),
            ("drain_s", .number(drainTime.inSeconds, places: 3))
        )
        if let latency { Row.latency("latency without one", "overload_latency", latency) }
        if let unrelated {
            for phase in [UnrelatedChannel.LoadPhase.quiet, .window, .overload] {
                Row.latency(
                    "unrelated, \(phase)",
                    "unrelated_\(phase)_latency",
                    unrelated.latencies[phase.rawValue]
                )
            }
        }
        Row.row(
            "unrelated p99, overload : quiet",
            ratioText(latencyRatio),
            ("p99_ratio", .number(latencyRatio, places: 4))
        )
        Row.row(
            "unrelated channel's thread",
            unrelated?.isPrioritized == true
                ? "real-time priority (SCHED_RR)"
                : "normal priority; root or CAP_SYS_NICE gives it real-time priority",
            ("unrelated_prioritized", .integer(unrelated?.isPrioritized == true ? 1 : 0))
        )
        Row.cpu(per: "delivery", overload.deliveries, overload.usage, of: server)
    }
}

extension Row {
    fileprivate static func rate(
        _ label: String,
        _ name: String,
        _ phase: OverloadResults.Phase
    ) -> Self {
        .row(
            label,
            "\(grouped(Int(phase.rate))) a second in \(seconds(phase.time))",
            ("\(name)_per_s", .number(phase.rate, places: 1))
        )
    }
}
