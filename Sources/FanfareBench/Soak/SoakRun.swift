import CommandSupport
import Net
import Primitives

/// Runs the soak benchmark.
final class SoakRun: ScenarioRun {
    private let warmUp: Duration
    private let soaking: Duration
    /// How long the server's descriptors must be stable before they are counted.
    private let settling: Duration
    private let workloads: [any SoakWorkload]
    private let generator: LoadGenerator
    private var memory: FootprintHistory
    private var phase = Phase.connecting(workload: 0)
    /// The server's footprint after the warm-up, with only the permanent connections open.
    private var before: Footprint?
    private var comparison: SoakComparison?
    private var shown: (deliveries: Int, at: MonotonicTime)?

    private enum Phase {
        case connecting(workload: Int)
        /// The load is on.
        case loading(since: MonotonicTime)
        /// All but the permanent connections are being closed.
        case draining(by: MonotonicTime)
        /// The server may release memory, until its descriptors have been stable for a time.
        case settling(since: MonotonicTime, descriptors: Int, steadySince: MonotonicTime)
    }

    /// The maximum duration of draining.
    private static let drainTimeMax = Duration.seconds(20)
    /// The maximum duration of settling.
    private static let settlingMax = Duration.seconds(120)

    init(
        _ scenario: SoakCommand,
        _ workloads: [any SoakWorkload],
        _ generator: LoadGenerator,
        memory: FootprintHistory
    ) {
        warmUp = .seconds(scenario.warmUp)
        soaking = .seconds(scenario.seconds)
        settling = .seconds(scenario.settle)
        self.workloads = workloads
        self.generator = generator
        self.memory = memory
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        memory.sample(at: now)
        switch phase {
        case .connecting(let index):
            guard try workloads[index].connect(at: now) else { return .idle }
            generator.resetStallTimer(at: now)
            phase =
                index + 1 < workloads.count
                ? .connecting(workload: index + 1) : .loading(since: now)
            return .wait(.zero)
        case .loading(let since):
            return try load(since: since, at: now)
        case .draining(let end):
            var areDrained = true
            for workload in workloads where !workload.drain(at: now, isLate: now >= end) {
                areDrained = false
            }
            guard areDrained else { return .idle }
            let descriptors = memory.last?.descriptors ?? 0
            phase = .settling(since: now, descriptors: descriptors, steadySince: now)
        case .settling(let since, let descriptors, let steadySince):
            return settle(since, descriptors, steadySince, at: now)
        }
        return .idle
    }

    /// The duration of the load: that of the warm-up first.
    private var duration: Duration { before == nil ? warmUp : soaking }

    private func load(
        since: MonotonicTime,
        at now: MonotonicTime
    ) throws(BenchError) -> BenchStep {
        let end = since.advanced(by: duration)
        guard now < end else {
            phase = .draining(by: now.advanced(by: Self.drainTimeMax))
            return .wait(.zero)
        }
        let (done, all) = (Int(since.duration(to: now).inSeconds), Int(duration.inSeconds))
        generator.progress.show(
            before == nil ? "Warming up (s)" : "Soaking (s)",
            min(done, max(all - 1, 0)),
            of: max(all, 1),
            at: now,
            detail: progress(at: now)
        )
        var next = end
        for workload in workloads { next = min(next, try workload.step(at: now) ?? next) }
        return .wait(from: .current, until: next)
    }

    private func settle(
        _ since: MonotonicTime,
        _ descriptors: Int,
        _ steadySince: MonotonicTime,
        at now: MonotonicTime
    ) -> BenchStep {
        let (steady, all) = (steadySince.duration(to: now), settling)
        generator.progress.show(
            "Waiting for the server to settle (s)",
            min(Int(steady.inSeconds), max(Int(all.inSeconds) - 1, 0)),
            of: max(Int(all.inSeconds), 1),
            at: now
        )
        memory.sample(at: now, every: BenchStep.tick)
        guard var footprint = memory.last else { return .idle }
        if footprint.descriptors != descriptors {
            phase = .settling(since: since, descriptors: footprint.descriptors, steadySince: now)
            return .idle
        }
        guard steady >= all || since.duration(to: now) >= Self.settlingMax else { return .idle }
        footprint.proportional = generator.server?.memory()
        guard let before else {
            before = footprint
            phase = .loading(since: now)
            return .wait(.zero)
        }
        comparison = SoakComparison(before: before, after: footprint)
        return .finished(after: .zero)
    }

    private var deliveryCounts: DeliveryCounts {
        workloads.map(\.deliveryCounts).reduce(DeliveryCounts(), +)
    }

    private func progress(at now: MonotonicTime) -> String {
        let deliveryCounts = deliveryCounts
        var rate = ""
        if let shown, shown.at < now {
            let time = shown.at.duration(to: now).inSeconds
            let count = Double(deliveryCounts.deliveries - shown.deliveries) / time
            rate = ", \(grouped(Int(count))) deliveries/s"
        }
        shown = (deliveryCounts.deliveries, now)
        let server = memory.last.map {
            ", \(mebibytes($0.resident)), \(grouped($0.descriptors)) descriptors"
        }
        return """
            \(rate), \(grouped(deliveryCounts.lost)) lost, \(grouped(deliveryCounts.misplaced)) \
            misplaced\(server ?? "")
            """
    }

    @RowBuilder func rows() -> [Row] {
        let counts = deliveryCounts
        Row(label: "all workloads", text: counts.text, members: counts.members("all"))
        workloads.flatMap(\.rows)
        if let comparison { comparison.rows }
        Row.row(
            "server memory at most",
            mebibytes(memory.residentPeak),
            ("resident_peak_bytes", .integer(memory.residentPeak)),
            ("resident_over_time_bytes", .integers(memory.residentOverTime()))
        )
    }

    func fault(stalled: Duration?) -> String? {
        joined([deliveryCounts.fault] + workloads.map(\.fault) + [comparison?.fault], by: "; ")
    }
}
