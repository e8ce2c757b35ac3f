import CommandSupport
import Net

/// A benchmark of stalled readers from its first connection to the report; a step a turn of the loop.
final class StalledRun: BenchRun {
    private let plan: StalledPlan
    private let generator: Generator
    private let feed: Feed
    private let stalled: StalledCrowd
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var findings = StalledFindings()
    private var memory: FootprintLog?
    private var nextSlice = 0
    /// How many events had been sent when the stalled ones were in.
    private var filledFrom = 0

    private enum Phase {
        case connecting
        /// Everybody who reads is there; the HTTP API is to be reached.
        case reaching
        /// Events flow that do not count: until a time, or until the stalled ones' buffers are full.
        case warmingUp(until: MonotonicTime?)
        /// What is on its way arrives before something else begins.
        case draining(then: Next)
        case gathering
        case measuring(since: MonotonicTime, deliveries: Int)
        case dismissing
        /// Everything has arrived; what comes now comes twice.
        case listening(until: MonotonicTime)
    }

    private enum Next {
        /// The next slice, whoever it wants.
        case slice
        case measuring
        /// The end of a slice with the stalled ones.
        case dismissing
    }

    /// How much is sent to each channel before a slice with the stalled ones: until the kernel holds all it takes for
    /// them, they cost what readers cost.
    private static let fillLength = 1 << 20

    /// A run that has yet to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    init(plan: StalledPlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        let audience = Subscribers(
            channels: plan.channels,
            subscribersPerChannel: plan.subscribersPerChannel,
            generator: generator
        )
        feed = Feed(
            to: audience,
            pace: plan.pace,
            dataLength: plan.dataLength,
            generator: generator
        )
        stalled = StalledCrowd(
            count: plan.stalledCount,
            beside: audience,
            backlog: plan.backlog,
            reconnectsPerSecond: plan.reconnectsPerSecond,
            generator: generator
        )
        memory = generator.server.map { FootprintLog(of: $0) }
        feed.published = { [stalled] channel, count in stalled.notePublished(count, to: channel) }
    }

    private var audience: Subscribers { feed.audience }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = feed.failure ?? stalled.failure { throw failure }
        if findings.residentBefore != nil { memory?.look(at: now) }
        try stalled.step(at: now)
        switch phase {
        case .connecting:
            guard try audience.assemble(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            phase = .reaching
        case .reaching:
            if feed.connect() {
                phase = .warmingUp(until: now.advanced(by: min(plan.slice, .seconds(2))))
                return .wait(.zero)
            }
            if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .warmingUp(let end):
            return warmUp(until: end, at: now)
        case .draining(let next):
            if feed.isQuiet { go(to: next, at: now) } else if isStalled(at: now) { return giveUp }
        case .gathering:
            generator.progress.show(
                "Stalling",
                stalled.stalledCount,
                of: plan.stalledCount,
                at: now
            )
            guard try stalled.gather(at: now) else { return .idle }
            generator.progress.end()
            filledFrom = audience.tally.sentCount
            phase = .warmingUp(until: nil)
            return .wait(.zero)
        case .measuring(let since, let deliveries):
            return measure(since: since, deliveries, at: now)
        case .dismissing:
            if stalled.isGone { go(to: .slice, at: now) }
        case .listening(let end):
            guard now < end else { return .finished(report(stalled: nil)) }
        }
        return .idle
    }

    // MARK: From slice to slice

    private func warmUp(until end: MonotonicTime?, at now: MonotonicTime) -> BenchStep {
        if let end {
            generator.progress.show("Warming up", 0, of: 1, at: now)
            if now >= end {
                return drain(then: .slice)
            }
        } else {
            let count = audience.tally.sentCount - filledFrom
            let all = max(1, plan.channels.count * Self.fillLength / plan.dataLength)
            generator.progress.show("Filling their buffers", min(count, all), of: all, at: now)
            if count >= all {
                return drain(then: .measuring)
            }
        }
        return isStalled(at: now) ? giveUp : publish()
    }

    private func drain(then next: Next) -> BenchStep {
        feed.pause()
        phase = .draining(then: next)
        return .wait(.zero)
    }

    private func go(to next: Next, at now: MonotonicTime) {
        generator.renewPatience(at: now)
        _ = audience.takeLatencies()
        if findings.residentBefore == nil {
            findings.residentBefore = generator.server.flatMap { Footprint(of: $0) }?.resident
        }
        switch next {
        case .slice:
            guard nextSlice < plan.slices.count else {
                generator.progress.end()
                return phase = .listening(until: now.advanced(by: BenchStep.aftermath))
            }
            guard plan.slices[nextSlice] else { return beginMeasuring(at: now) }
            phase = .gathering
        case .measuring: beginMeasuring(at: now)
        case .dismissing:
            stalled.dismiss()
            phase = .dismissing
        }
    }

    private func beginMeasuring(at now: MonotonicTime) {
        phase = .measuring(since: now, deliveries: audience.tally.deliveries)
    }

    private func measure(
        since: MonotonicTime,
        _ deliveries: Int,
        at now: MonotonicTime
    ) -> BenchStep {
        let isCrowded = plan.slices[nextSlice]
        generator.progress.show(
            isCrowded ? "Beside the stalled" : "Alone",
            nextSlice,
            of: plan.slices.count,
            at: now,
            detail: progress
        )
        if isStalled(at: now) { return giveUp }
        guard since.duration(to: now) >= plan.slice else {
            if isCrowded { findings.noteStalled(stalled.stalledCount) }
            return publish()
        }
        feed.pause()
        // The last events are still on their way; their latencies count with those of the slice.
        guard feed.isQuiet else { return .idle }
        findings.add(
            StalledFindings.Slice(
                isCrowded: isCrowded,
                latencies: audience.takeLatencies(),
                deliveries: audience.tally.deliveries - deliveries,
                time: since.duration(to: now)
            )
        )
        nextSlice += 1
        return drain(then: isCrowded ? .dismissing : .slice)
    }

    private var progress: String {
        let resident = memory?.last.map { ", \(mebibytes($0.resident))" } ?? ""
        return """
            , \(grouped(audience.tally.deliveries)) deliveries, \(grouped(stalled.stalledCount)) \
            stalled, \(grouped(stalled.partings.total)) closed\(resident)
            """
    }

    private func isStalled(at now: MonotonicTime) -> Bool {
        let tally = audience.tally
        if feed.isQuiet { generator.renewPatience(at: now) }
        return generator.isStalled(tally.deliveries + tally.duplicated + tally.sentCount, at: now)
    }

    private var giveUp: BenchStep { .finished(report(stalled: generator.subject.patience)) }

    private func publish() -> BenchStep {
        feed.step().map { .wait(from: .current, until: $0) } ?? .idle
    }

    // MARK: The report

    private var memoryRows: [BenchReport.Row] {
        guard let memory, let before = findings.residentBefore else { return [] }
        return memory.rows(since: before, growthMax: plan.budget)
    }

    private func report(stalled time: Duration?) -> BenchReport {
        findings.residentPeak = memory?.residentPeak
        let faults = [
            audience.tally.fault(stalled: time),
            findings.fault(plan, unclosedCount: stalled.unclosedCount),
            stalled.partings.fault,
        ].compactMap { $0 }
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: BenchReport.Row.tally(audience.tally, of: "deliveries", "deliveries")
                + findings.rows
                + [
                    .init(
                        label: "stalled on average",
                        text: decimal(findings.stalledOnAverage, places: 1),
                        members: [
                            ("stalled_on_average", .number(findings.stalledOnAverage, places: 1))
                        ]
                    ),
                    .init(
                        label: "stalled ones closed",
                        text: stalled.partings.description,
                        members: stalled.partings.members("stalled")
                    ),
                    .count("stalled ones never closed", "unclosed", stalled.unclosedCount),
                ] + memoryRows,
            fault: faults.isEmpty ? nil : faults.joined(separator: "; ")
        )
    }
}
