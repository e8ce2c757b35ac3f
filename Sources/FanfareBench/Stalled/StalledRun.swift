import CommandSupport
import Net

/// Runs the benchmark of stalled readers, one step per turn of the loop.
final class StalledRun: BenchRun {
    private let plan: StalledPlan
    private let generator: LoadGenerator
    private let publisher: PacedPublisher
    private let stalled: StalledClients
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var results = StalledResults()
    private var memory: FootprintHistory?
    private var nextSlice = 0
    /// The number of events sent when the stalled readers had connected.
    private var filledFrom = 0

    private enum Phase {
        case connecting
        /// All readers are subscribed; the connection to the HTTP API is being opened.
        case openingPublisher
        /// Events are sent but not measured: until a time, or until the stalled readers' buffers are full.
        case warmingUp(until: MonotonicTime?)
        /// Events in flight are delivered before the next phase.
        case draining(then: Next)
        case stalling
        case measuring(since: MonotonicTime, deliveries: Int)
        case disconnecting
        /// All deliveries have arrived; later ones are duplicates.
        case awaitingDuplicates(until: MonotonicTime)
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

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: StalledPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        let subscribers = Subscribers(
            channels: plan.channels,
            subscribersPerChannel: plan.subscribersPerChannel,
            generator: generator
        )
        publisher = PacedPublisher(
            to: subscribers,
            pace: plan.pace,
            dataLength: plan.dataLength,
            generator: generator
        )
        stalled = StalledClients(
            count: plan.stalledCount,
            beside: subscribers,
            backlog: plan.backlog,
            reconnectsPerSecond: plan.reconnectsPerSecond,
            generator: generator
        )
        memory = generator.server.map { FootprintHistory(of: $0) }
        publisher.onPublish = { [stalled] channel, count in
            stalled.recordPublished(count, to: channel)
        }
    }

    private var subscribers: Subscribers { publisher.subscribers }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? stalled.failure { throw failure }
        if results.residentBefore != nil { memory?.sample(at: now) }
        try stalled.step(at: now)
        switch phase {
        case .connecting:
            guard try subscribers.connect(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            phase = .openingPublisher
        case .openingPublisher:
            if publisher.connect() {
                phase = .warmingUp(until: now.advanced(by: min(plan.slice, .seconds(2))))
                return .wait(.zero)
            }
            if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .warmingUp(let end):
            return warmUp(until: end, at: now)
        case .draining(let next):
            if publisher.isIdle {
                advance(to: next, at: now)
            } else if isStalled(at: now) {
                return stalledReport
            }
        case .stalling:
            generator.progress.show(
                "Stalling",
                stalled.stalledCount,
                of: plan.stalledCount,
                at: now
            )
            guard try stalled.connect(at: now) else { return .idle }
            generator.progress.end()
            filledFrom = subscribers.tracker.sentCount
            phase = .warmingUp(until: nil)
            return .wait(.zero)
        case .measuring(let since, let deliveries):
            return measure(since: since, deliveries, at: now)
        case .disconnecting:
            if stalled.isDisconnected { advance(to: .slice, at: now) }
        case .awaitingDuplicates(let end):
            guard now < end else { return .finished(report(stalled: nil)) }
        }
        return .idle
    }

    // MARK: Slices

    private func warmUp(until end: MonotonicTime?, at now: MonotonicTime) -> BenchStep {
        if let end {
            generator.progress.show("Warming up", 0, of: 1, at: now)
            if now >= end {
                return drain(then: .slice)
            }
        } else {
            let count = subscribers.tracker.sentCount - filledFrom
            let all = max(1, plan.channels.count * Self.fillLength / plan.dataLength)
            generator.progress.show("Filling buffers", min(count, all), of: all, at: now)
            if count >= all {
                return drain(then: .measuring)
            }
        }
        return isStalled(at: now) ? stalledReport : publish()
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
            guard nextSlice < plan.slices.count else {
                generator.progress.end()
                return phase = .awaitingDuplicates(until: now.advanced(by: BenchStep.duplicateWait))
            }
            guard plan.slices[nextSlice] else { return beginMeasuring(at: now) }
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
        let hasStalled = plan.slices[nextSlice]
        generator.progress.show(
            hasStalled ? "With stalled readers" : "Alone",
            nextSlice,
            of: plan.slices.count,
            at: now,
            detail: progress
        )
        if isStalled(at: now) { return stalledReport }
        guard since.duration(to: now) >= plan.slice else {
            if hasStalled { results.recordStalledCount(stalled.stalledCount) }
            return publish()
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

    private func isStalled(at now: MonotonicTime) -> Bool {
        let tracker = subscribers.tracker
        if publisher.isIdle { generator.resetStallTimer(at: now) }
        return generator.isStalled(
            tracker.deliveries + tracker.duplicated + tracker.sentCount,
            at: now
        )
    }

    private var stalledReport: BenchStep {
        .finished(report(stalled: generator.target.stallTimeout))
    }

    private func publish() -> BenchStep {
        publisher.step().map { .wait(from: .current, until: $0) } ?? .idle
    }

    // MARK: Report

    private var memoryRows: [BenchReport.Row] {
        guard let memory, let before = results.residentBefore else { return [] }
        return memory.rows(since: before, growthMax: plan.budget)
    }

    private func report(stalled time: Duration?) -> BenchReport {
        results.residentPeak = memory?.residentPeak
        let faults = [
            subscribers.tracker.fault(stalled: time),
            results.fault(plan, unclosedCount: stalled.unclosedCount),
            stalled.disconnections.fault,
        ].compactMap { $0 }
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: BenchReport.Row.deliveries(subscribers.tracker, of: "deliveries", "deliveries")
                + results.rows
                + [
                    .init(
                        label: "stalled readers on average",
                        text: decimal(results.stalledOnAverage, places: 1),
                        members: [
                            ("stalled_on_average", .number(results.stalledOnAverage, places: 1))
                        ]
                    ),
                    .init(
                        label: "stalled readers closed",
                        text: stalled.disconnections.description,
                        members: stalled.disconnections.members("stalled")
                    ),
                    .count("stalled readers not closed", "unclosed", stalled.unclosedCount),
                ] + memoryRows,
            fault: faults.isEmpty ? nil : faults.joined(separator: "; ")
        )
    }
}
