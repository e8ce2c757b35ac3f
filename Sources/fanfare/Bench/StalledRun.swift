import Net

/// A benchmark of stalled readers from its first connection to the report; a step a turn of the loop.
final class StalledRun: BenchRun {
    private let plan: StalledPlan
    private let generator: Generator
    private let audience: Audience
    private let stalled: StalledCrowd
    private let publisher: Publisher
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var findings = StalledFindings()
    private var memory: FootprintLog?
    private var nextSlice = 0
    /// Bytes of data that were sent to each channel when the stalled ones were in.
    private var filledFrom = 0

    private enum Phase {
        case connecting
        /// Everybody who reads is there; the HTTP API is to be reached.
        case reaching
        /// Events flow that do not count: until a time, or until the stalled ones' buffers are full.
        case warmingUp(Flow, until: MonotonicTime?)
        /// What is on its way arrives before something else begins.
        case draining(then: Next)
        case gathering
        case measuring(Flow, until: MonotonicTime, deliveries: Int)
        case dismissing
        /// Everything has arrived; what comes now comes twice.
        case listening(until: MonotonicTime)
    }

    /// Events at a pace, and how many had been sent when that began.
    private struct Flow {
        var schedule: Schedule
        var sentBefore: Int
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
        audience = Audience(
            channels: plan.channels,
            subscribersPerChannel: plan.subscribersPerChannel,
            generator: generator
        )
        stalled = StalledCrowd(
            count: plan.stalledCount,
            channels: plan.channels,
            backlog: plan.backlog,
            reconnectsPerSecond: plan.reconnectsPerSecond,
            generator: generator
        )
        publisher = Publisher(generator: generator)
        memory = generator.server.map { FootprintLog(of: $0) }
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? audience.failure ?? stalled.failure { throw failure }
        if findings.residentBefore != nil { memory?.look(at: now) }
        try stalled.step(at: now)
        switch phase {
        case .connecting:
            guard try audience.assemble(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            publisher.connect()
            phase = .reaching
        case .reaching:
            if publisher.canPublish {
                let end = now.advanced(by: min(plan.slice, .seconds(2)))
                phase = .warmingUp(flow, until: end)
                return .wait(.zero)
            }
            if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .warmingUp(let flow, let end):
            return warmUp(flow, until: end, at: now)
        case .draining(let next):
            if isQuiet { go(to: next, at: now) } else if isStalled(at: now) { return giveUp }
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
            phase = .warmingUp(flow, until: nil)
            return .wait(.zero)
        case .measuring(let flow, let end, let deliveries):
            return measure(flow, until: end, deliveries, at: now)
        case .dismissing:
            if stalled.isGone { go(to: .slice, at: now) }
        case .listening(let end):
            guard now < end else { return .finished(report(stalled: nil)) }
        }
        return .idle
    }

    /// Events at the plan's pace from now on.
    private var flow: Flow {
        let schedule = Schedule(
            pace: plan.pace,
            messageCount: .max,
            subscriberCount: plan.subscribersPerChannel,
            start: .current
        )
        return Flow(schedule: schedule, sentBefore: audience.tally.sentCount)
    }

    private var isQuiet: Bool { audience.tally.missing == 0 && publisher.unansweredCount == 0 }

    // MARK: From slice to slice

    private func warmUp(
        _ flow: Flow,
        until end: MonotonicTime?,
        at now: MonotonicTime
    ) -> BenchStep {
        if let end {
            generator.progress.show("Warming up", 0, of: 1, at: now)
            if now >= end {
                _ = audience.takeLatencies()
                phase = .draining(then: .slice)
                return .wait(.zero)
            }
        } else {
            let count = audience.tally.sentCount - filledFrom
            let all = max(1, plan.channels.count * Self.fillLength / plan.dataLength)
            generator.progress.show("Filling their buffers", min(count, all), of: all, at: now)
            if count >= all {
                phase = .draining(then: .measuring)
                return .wait(.zero)
            }
        }
        return isStalled(at: now) ? giveUp : publish(flow)
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
            guard plan.slices[nextSlice] else { return beginMeasuring() }
            phase = .gathering
        case .measuring: beginMeasuring()
        case .dismissing:
            stalled.dismiss()
            phase = .dismissing
        }
    }

    private func beginMeasuring() {
        let flow = flow
        let end = flow.schedule.start.advanced(by: plan.slice)
        phase = .measuring(flow, until: end, deliveries: audience.tally.deliveries)
    }

    private func measure(
        _ flow: Flow,
        until end: MonotonicTime,
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
        guard now >= end else { return publish(flow) }
        // The last events are still on their way; their latencies count with those of the slice.
        guard isQuiet else { return .idle }
        findings.add(
            StalledFindings.Slice(
                isCrowded: isCrowded,
                latencies: audience.takeLatencies(),
                deliveries: audience.tally.deliveries - deliveries,
                time: flow.schedule.start.duration(to: now)
            )
        )
        nextSlice += 1
        phase = .draining(then: isCrowded ? .dismissing : .slice)
        return .wait(.zero)
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
        if isQuiet { generator.renewPatience(at: now) }
        return generator.isStalled(tally.deliveries + tally.duplicated + tally.sentCount, at: now)
    }

    private var giveUp: BenchStep { .finished(report(stalled: generator.subject.patience)) }

    /// Sends all events that are due, and says when the next one is.
    private func publish(_ flow: Flow) -> BenchStep {
        while publisher.canPublish {
            let now = MonotonicTime.current
            let tally = audience.tally
            let step = flow.schedule.step(
                sent: tally.sentCount - flow.sentBefore,
                missing: tally.missing,
                now: now
            )
            switch step {
            case .send(let due):
                let channel = tally.sentCount % plan.channels.count
                let data = audience.nextData(on: channel, length: plan.dataLength, due: due)
                publisher.publish(data, to: plan.channels[channel])
                stalled.notePublished(data.count, to: channel)
            case .wait(let due): return .wait(from: now, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    // MARK: The report

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
                        label: "stalled ones closed",
                        text: stalled.partings.description,
                        members: stalled.partings.members("stalled")
                    ),
                    .count("stalled ones never closed", "unclosed", stalled.unclosedCount),
                ] + memoryRows,
            fault: faults.isEmpty ? nil : faults.joined(separator: "; ")
        )
    }

    private var memoryRows: [BenchReport.Row] {
        guard let memory, let before = findings.residentBefore else { return [] }
        return [
            .init(
                label: "server memory",
                text: """
                    \(mebibytes(before)) alone, at most \(mebibytes(memory.residentPeak)); \
                    \(mebibytes(plan.budget)) more is allowed
                    """,
                members: [
                    ("resident_before_bytes", .integer(before)),
                    ("resident_peak_bytes", .integer(memory.residentPeak)),
                    ("resident_over_time_bytes", .integers(memory.residentOverTime())),
                ]
            ),
            .init(
                label: "the kernel's for TCP",
                text: "at most \(mebibytes(memory.kernelPeak)), of all connections of this machine",
                members: [("kernel_tcp_peak_bytes", .integer(memory.kernelPeak))]
            ),
        ]
    }
}
