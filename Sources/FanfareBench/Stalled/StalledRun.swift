import CommandSupport
import Net
import PusherProtocol

/// Runs the benchmark of stalled readers.
final class StalledRun: ScenarioRun {
    private let channelCount: Int
    private let stalledCount: Int
    private let dataLength: Int
    private let slice: Duration
    /// Whether each slice has stalled readers.
    private let slices: [Bool]
    private let backlog: Int
    private let budget: Int
    private let generator: LoadGenerator
    private let publisher: PacedPublisher
    private let stalled: StalledClients
    private var phase = Phase.connecting
    private var results = StalledResults()
    private var memory: FootprintHistory?
    private var nextSlice = 0
    /// The number of events sent when the stalled readers had connected.
    private var filledFrom = 0

    private enum Phase {
        case connecting
        /// Events are sent but not measured: until a time, or until the stalled readers' buffers are full.
        case warmingUp(until: MonotonicTime?)
        /// Events in flight are delivered before the next phase.
        case draining(then: Next)
        case stalling
        case measuring(since: MonotonicTime, deliveries: Int)
        case disconnecting
        case complete
    }

    private enum Next {
        /// The next slice, of either kind.
        case slice
        case measuring
        /// The end of a slice with stalled readers.
        case disconnecting
    }

    /// The bytes sent to each channel before a slice with stalled readers.
    ///
    /// Until the kernel's buffers for them are full, they cost as much as readers.
    private static let fillLength = 1 << 20

    init(_ scenario: StalledCommand, _ channels: [ChannelName], _ generator: LoadGenerator) {
        channelCount = channels.count
        stalledCount = scenario.stalled
        dataLength = scenario.size
        slice = scenario.slice
        slices = scenario.slices
        backlog = scenario.backlogBytes
        budget = scenario.budgetBytes
        self.generator = generator
        let subscribers = Subscribers(
            of: channels,
            each: scenario.subscribers / channels.count,
            generator: generator
        )
        let stalled = StalledClients(
            count: scenario.stalled,
            beside: subscribers,
            backlog: scenario.backlogBytes,
            reconnectsPerSecond: scenario.reconnects
        )
        self.stalled = stalled
        let size = scenario.size
        publisher = PacedPublisher(
            to: subscribers,
            pace: scenario.pacing.pace,
            dataLength: size,
            recordPublished: { stalled.recordPublished(size, to: $0) }
        )
        memory = generator.server.map { FootprintHistory(of: $0) }
    }

    private var subscribers: Subscribers { publisher.subscribers }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if results.residentBefore != nil { memory?.sample(at: now) }
        try stalled.step(at: now)
        switch phase {
        case .connecting:
            guard try publisher.connect(at: now) else { return .idle }
            phase = .warmingUp(until: now.advanced(by: min(slice, .seconds(2))))
            return .wait(.zero)
        case .warmingUp(let end):
            return warmUp(until: end, at: now)
        case .draining(let next):
            if publisher.isIdle {
                advance(to: next, at: now)
            } else if publisher.isStalled(at: now) {
                return .stalled
            }
        case .stalling:
            generator.progress.show("Stalling", stalled.stalledCount, of: stalledCount, at: now)
            guard try stalled.connect(at: now) else { return .idle }
            generator.progress.end()
            filledFrom = subscribers.tracker.sentCount
            phase = .warmingUp(until: nil)
            return .wait(.zero)
        case .measuring(let since, let deliveries):
            return measure(since: since, deliveries, at: now)
        case .disconnecting:
            if stalled.isDisconnected { advance(to: .slice, at: now) }
        case .complete: return .complete
        }
        return .idle
    }

    // MARK: Slices

    private func warmUp(until end: MonotonicTime?, at now: MonotonicTime) -> BenchStep {
        if let end {
            generator.progress.show("Warming up", 0, of: 1, at: now)
            if now >= end { return drain(then: .slice) }
        } else {
            let count = subscribers.tracker.sentCount - filledFrom
            let all = max(1, channelCount * Self.fillLength / dataLength)
            generator.progress.show("Filling buffers", min(count, all), of: all, at: now)
            if count >= all { return drain(then: .measuring) }
        }
        return publisher.isStalled(at: now) ? .stalled : .wait(until: publisher.step())
    }

    private func drain(then next: Next) -> BenchStep {
        publisher.pause()
        phase = .draining(then: next)
        return .wait(.zero)
    }

    private func advance(to next: Next, at now: MonotonicTime) {
        generator.resetStallTimer(at: now)
        _ = subscribers.takeLatencies()
        if results.residentBefore == nil {
            results.residentBefore = generator.server.flatMap { Footprint(of: $0) }?.resident
        }
        switch next {
        case .slice:
            guard nextSlice < slices.count else { return phase = .complete }
            guard slices[nextSlice] else { return beginMeasuring(at: now) }
            phase = .stalling
        case .measuring: beginMeasuring(at: now)
        case .disconnecting:
            stalled.disconnect()
            phase = .disconnecting
        }
    }

    private func beginMeasuring(at now: MonotonicTime) {
        phase = .measuring(since: now, deliveries: subscribers.tracker.deliveries)
    }

    private func measure(
        since: MonotonicTime,
        _ deliveries: Int,
        at now: MonotonicTime
    ) -> BenchStep {
        let hasStalled = slices[nextSlice]
        generator.progress.show(
            hasStalled ? "With stalled readers" : "Alone",
            nextSlice,
            of: slices.count,
            at: now,
            detail: progress
        )
        if publisher.isStalled(at: now) { return .stalled }
        guard since.duration(to: now) >= slice else {
            if hasStalled { results.recordStalledCount(stalled.stalledCount) }
            return .wait(until: publisher.step())
        }
        publisher.pause()
        // Events in flight belong to the slice.
        guard publisher.isIdle else { return .idle }
        results.add(
            StalledResults.Slice(
                hasStalled: hasStalled,
                latencies: subscribers.takeLatencies(),
                deliveries: subscribers.tracker.deliveries - deliveries,
                time: since.duration(to: now)
            )
        )
        nextSlice += 1
        return drain(then: hasStalled ? .disconnecting : .slice)
    }

    private var progress: String {
        let resident = memory?.last.map { ", \(mebibytes($0.resident))" } ?? ""
        return """
            , \(grouped(subscribers.tracker.deliveries)) deliveries, \(grouped(stalled.stalledCount)) \
            stalled, \(grouped(stalled.disconnections.total)) closed\(resident)
            """
    }

    // MARK: Report

    @RowBuilder func rows() -> [Row] {
        Row.deliveries(subscribers.tracker)
        results.rows
        Row.row(
            "stalled readers on average",
            decimal(results.stalledOnAverage, places: 1),
            ("stalled_on_average", .number(results.stalledOnAverage, places: 1))
        )
        Row.disconnections("stalled readers closed", "stalled", stalled.disconnections)
        Row.count("stalled readers not closed", "unclosed", stalled.unclosedCount)
        if let memory, let before = results.residentBefore {
            memory.rows(since: before, growthMax: budget)
        }
    }

    func fault(stalled timeout: Duration?) -> String? {
        results.residentPeak = memory?.residentPeak
        let unclosedCount = stalled.unclosedCount
        return joined(
            [
                subscribers.tracker.fault(stalled: timeout),
                results.fault(backlog: backlog, budget: budget, unclosedCount: unclosedCount),
                stalled.disconnections.fault,
            ],
            by: "; "
        )
    }
}
