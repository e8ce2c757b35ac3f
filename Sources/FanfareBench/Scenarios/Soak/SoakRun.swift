import CommandSupport
import Net
import Primitives

final class SoakRun {
    private let scenario: SoakCommand
    private let workloads: [any SoakWorkload]
    private let generator: LoadGenerator
    private var memory: MemoryHistory
    private var comparison: SoakComparison?
    private var shown: (deliveries: Int, at: MonotonicTime)?

    private static let drainTimeMax = Duration.seconds(20)
    private static let settlingMax = Duration.seconds(120)

    init(
        _ scenario: SoakCommand,
        _ workloads: [any SoakWorkload],
        _ generator: LoadGenerator,
        memory: MemoryHistory
    ) {
        self.scenario = scenario
        self.workloads = workloads
        self.generator = generator
        self.memory = memory
        generator.onTurn { [unowned self] now in
            self.memory.sample(at: now)
            return nil
        }
    }

    func run() throws(BenchError) {
        for workload in workloads { try workload.connect() }
        let before = try footprint(after: .seconds(scenario.warmUp), "Warming up (s)")
        let after = try footprint(after: .seconds(scenario.seconds), "Soaking (s)")
        comparison = SoakComparison(before: before, after: after)
    }

    /// Applies the load for a time; returns the server's footprint afterwards, with only the permanent connections.
    private func footprint(after time: Duration, _ label: String) throws(BenchError) -> Footprint {
        let start = MonotonicTime.current
        let end = start.advanced(by: time)
        try generator.run { now throws(BenchError) in
            guard now < end else { return .done }
            let (done, all) = (Int(start.duration(to: now).inSeconds), Int(time.inSeconds))
            generator.progress.show(
                label,
                min(done, max(all - 1, 0)),
                of: max(all, 1),
                at: now,
                detail: progress(at: now)
            )
            var next = end
            for workload in workloads { next = min(next, try workload.step(at: now) ?? next) }
            return .wait(until: next)
        }
        let drainEnd = MonotonicTime.current.advanced(by: Self.drainTimeMax)
        try generator.run { now in
            let late = workloads.filter { !$0.drain(at: now) }
            guard now >= drainEnd else { return .until(late.isEmpty) }
            for workload in late { workload.giveUp() }
            return .done
        }
        return try settle()
    }

    /// Waits until the server's descriptors have been stable for a time, in which it may release memory.
    private func settle() throws(BenchError) -> Footprint {
        let (start, all) = (MonotonicTime.current, Duration.seconds(scenario.settle))
        var descriptors = memory.last.descriptors
        var steadySince = start
        try generator.run { now in
            let steady = steadySince.duration(to: now)
            generator.progress.show(
                "Waiting for the server to settle (s)",
                min(Int(steady.inSeconds), max(Int(all.inSeconds) - 1, 0)),
                of: max(Int(all.inSeconds), 1),
                at: now
            )
            memory.sample(at: now, every: BenchStep.tick)
            if memory.last.descriptors != descriptors {
                descriptors = memory.last.descriptors
                steadySince = now
                return .idle
            }
            return .until(steady >= all || start.duration(to: now) >= Self.settlingMax)
        }
        var footprint = memory.last
        footprint.proportional = generator.server?.memory()
        return footprint
    }

    private var deliveryCounts: DeliveryCounts {
        workloads.map(\.deliveryCounts).reduce(DeliveryCounts(), +)
    }

    private func progress(at now: MonotonicTime) -> String {
        let counts = deliveryCounts
        var rate = ""
        if let shown, shown.at < now {
            let time = shown.at.duration(to: now).inSeconds
            let count = Double(counts.deliveries - shown.deliveries) / time
            rate = ", \(grouped(Int(count))) deliveries/s"
        }
        shown = (counts.deliveries, now)
        return """
            \(rate), \(grouped(counts.lost)) lost, \(grouped(counts.misplaced)) misplaced, \
            \(mebibytes(memory.last.resident)), \(grouped(memory.last.descriptors)) descriptors
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
            memory.residentOverTime
        )
    }

    var fault: String? {
        joined([deliveryCounts.fault] + workloads.map(\.fault) + [comparison?.fault], by: "; ")
    }
}

/// Compares the server's footprint after the warm-up with that at the end.
struct SoakComparison: Equatable {
    /// The footprint after the warm-up, with only the permanent connections open.
    var before: Footprint
    /// The footprint at the end, with the same connections open.
    var after: Footprint

    /// The allowed growth of resident memory in bytes.
    ///
    /// An allocator does not return every free page: fragmentation depends on the order of allocations, and varies with
    /// the peaks of the load, not with its duration. It is allowed to be a sixteenth of the memory, or 4 MiB. A leak of
    /// 100 bytes for each of the 36,000 visitors of half an hour would be as much.
    var residentGrowthMax: Int { max(before.resident / 16, 4 << 20) }

    var fault: String? {
        joined(
            [
                excess(of: after.resident - before.resident, over: residentGrowthMax, "memory"),
                counted(after.descriptors - before.descriptors, "descriptors were not closed"),
            ],
            by: "; "
        )
    }

    @RowBuilder var rows: [Row] {
        Row.row(
            "server memory",
            """
            \(mebibytes(before.resident)) after warm-up, \(mebibytes(after.resident)) at \
            the end; \(mebibytes(residentGrowthMax)) more is allowed
            """,
            ("resident_before_bytes", .integer(before.resident)),
            ("resident_after_bytes", .integer(after.resident))
        )
        Row.row(
            "server memory (Pss)",
            "\(proportional(before)), \(proportional(after))",
            ("pss_before_bytes", before.proportional.map { .integer($0) } ?? .null),
            ("pss_after_bytes", after.proportional.map { .integer($0) } ?? .null)
        )
        Row.row(
            "server descriptors",
            "\(grouped(before.descriptors)) after warm-up, \(grouped(after.descriptors)) at the end",
            ("descriptors_before", .integer(before.descriptors)),
            ("descriptors_after", .integer(after.descriptors))
        )
    }

    private func proportional(_ footprint: Footprint) -> String {
        footprint.proportional.map(mebibytes) ?? "unknown"
    }
}
