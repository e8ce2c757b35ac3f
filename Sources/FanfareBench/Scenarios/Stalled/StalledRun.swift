import CommandSupport
import Net
import PusherProtocol

final class StalledRun {
    private let scenario: StalledCommand
    private let generator: LoadGenerator
    private let subscribers: Subscribers
    private let publisher: PacedPublisher
    private let stalled: StalledClients
    private var results = StalledResults()
    /// Since the warm-up.
    private var memory: MemoryHistory?

    /// The bytes sent to each channel before a slice with stalled readers.
    ///
    /// Until the kernel's buffers for them are full, they cost as much as readers.
    private static let fillLength = 1 << 20

    init(_ scenario: StalledCommand, _ channels: [ChannelName], _ generator: LoadGenerator) {
        self.scenario = scenario
        self.generator = generator
        let subscribers = Subscribers(
            of: channels,
            each: scenario.subscribers / channels.count,
            generator
        )
        let stalled = StalledClients(
            count: scenario.stalled,
            beside: subscribers,
            backlog: scenario.backlogBytes,
            reconnectsPerSecond: scenario.reconnects
        )
        let size = scenario.size
        publisher = PacedPublisher(
            to: subscribers,
            pace: scenario.pacing.pace,
            dataLength: size,
            recordPublished: { stalled.recordPublished(size, to: $0) }
        )
        self.subscribers = subscribers
        self.stalled = stalled
        generator.onTurn { [unowned self] now throws(BenchError) in
            memory?.sample(at: now)
            try stalled.step(at: now)
            return nil
        }
    }

    func run() throws(BenchError) {
        try generator.connect(subscribers)
        try generator.open([publisher.connection])
        let warmUpEnd = MonotonicTime.current.advanced(by: min(scenario.slice, .seconds(2)))
        try publish { now in
            generator.progress.show("Warming up", 0, of: 1, at: now)
            return now >= warmUpEnd
        }
        for (index, hasStalled) in scenario.slices.enumerated() {
            if hasStalled { try stall() }
            try measure(index, hasStalled: hasStalled)
            guard hasStalled else { continue }
            stalled.disconnect()
            try generator.run { _ in .until(stalled.isDisconnected) }
            generator.resetStallTimer()
        }
    }

    /// Connects the stalled readers, and sends events until their buffers are full.
    private func stall() throws(BenchError) {
        try generator.run { now throws(BenchError) in
            let (count, all) = (stalled.stalledCount, scenario.stalled)
            generator.progress.show("Stalling", count, of: all, at: now)
            return .until(try stalled.connect(at: now))
        }
        generator.progress.end()
        let start = subscribers.tracker.sentCount
        let all = max(1, subscribers.channels.count * Self.fillLength / scenario.size)
        try publish { now in
            let count = subscribers.tracker.sentCount - start
            generator.progress.show("Filling buffers", min(count, all), of: all, at: now)
            return count >= all
        }
    }

    private func measure(_ index: Int, hasStalled: Bool) throws(BenchError) {
        let (start, before) = (MonotonicTime.current, subscribers.tracker.deliveries)
        try generator.run { now in
            generator.progress.show(
                hasStalled ? "With stalled readers" : "Alone",
                index,
                of: scenario.slices.count,
                at: now,
                detail: progress
            )
            if publisher.isStalled(at: now) { return .stalled }
            guard start.duration(to: now) >= scenario.slice else {
                if hasStalled { results.recordStalledCount(stalled.stalledCount) }
                return .wait(until: publisher.sendDue())
            }
            publisher.pause()
            // Events in flight belong to the slice.
            return .until(publisher.isIdle)
        }
        results.slices.append(
            StalledResults.Slice(
                hasStalled: hasStalled,
                latencies: subscribers.takeLatencies(),
                deliveries: subscribers.tracker.deliveries - before,
                time: start.duration(to: .current)
            )
        )
        generator.resetStallTimer()
    }

    /// Publishes events that are not measured, until a condition holds and all of them are delivered.
    private func publish(until isOver: (MonotonicTime) -> Bool) throws(BenchError) {
        try generator.run { now in
            if isOver(now) { return .done }
            return publisher.isStalled(at: now) ? .stalled : .wait(until: publisher.sendDue())
        }
        publisher.pause()
        try generator.run { now in
            if publisher.isIdle { return .done }
            return publisher.isStalled(at: now) ? .stalled : .idle
        }
        generator.resetStallTimer()
        _ = subscribers.takeLatencies()
        if memory == nil { memory = MemoryHistory(of: generator.server) }
    }

    private var progress: String {
        let resident = memory.map { ", \(mebibytes($0.last.resident))" } ?? ""
        return """
            , \(grouped(subscribers.tracker.deliveries)) deliveries, \(grouped(stalled.stalledCount)) \
            stalled, \(grouped(stalled.disconnections.total)) closed\(resident)
            """
    }

    func findings(stalled timeout: Duration?) -> Findings {
        results.growth = memory?.growth
        let fault = joined(
            [
                subscribers.tracker.fault(stalled: timeout),
                results.fault(
                    backlog: scenario.backlogBytes,
                    budget: scenario.budgetBytes,
                    unclosedCount: stalled.unclosedCount
                ),
                stalled.disconnections.fault,
            ],
            by: "; "
        )
        return Findings(fault: fault) {
            Row.deliveries(subscribers.tracker)
            results.rows
            Row.row(
                "stalled readers on average",
                decimal(results.stalledOnAverage, places: 1),
                ("stalled_on_average", .number(results.stalledOnAverage, places: 1))
            )
            Row.disconnections("stalled readers closed", "stalled", stalled.disconnections)
            Row.count("stalled readers not closed", "unclosed", stalled.unclosedCount)
            if let memory { memory.rows(growthMax: scenario.budgetBytes) }
        }
    }
}
