import CommandSupport
import Net

/// Runs the benchmarks `fanout` and `channels`, one step per turn of the loop.
final class DeliveryRun: BenchRun {
    private let plan: DeliveryPlan
    private let generator: LoadGenerator
    private let subscribers: Subscribers
    private let publisher: EventPublisher
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero

    private enum Phase {
        case connecting
        /// All subscribers are connected; the connection to the HTTP API is being opened.
        case openingPublisher
        case delivering(Schedule, before: ResourceUsage)
        /// All deliveries have arrived; later ones are duplicates.
        case awaitingDuplicates(Schedule, ResourceUsage, until: MonotonicTime)
    }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: DeliveryPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        subscribers = Subscribers(
            channels: plan.channels,
            subscribersPerChannel: plan.subscribersPerChannel,
            recovery: plan.recovery,
            generator: generator
        )
        publisher = EventPublisher(
            subscribers.requests(dataLength: plan.dataLength),
            policy: .endRun,
            generator: generator
        )
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? subscribers.failure { throw failure }
        switch phase {
        case .connecting:
            guard try subscribers.connect(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            publisher.connect()
            phase = .openingPublisher
        case .openingPublisher:
            if publisher.canSend { return beginDelivering() }
            if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .delivering(let schedule, let before):
            return deliver(schedule, before: before, at: now)
        case .awaitingDuplicates(let schedule, let usage, let end):
            guard now < end else { return .finished(report(schedule, usage, stalled: nil)) }
        }
        return .idle
    }

    private func beginDelivering() -> BenchStep {
        let before = generator.resourceUsage()
        let schedule = Schedule(
            pace: plan.pace,
            messageCount: plan.messageCount,
            subscriberCount: plan.subscribersPerChannel,
            start: .current
        )
        phase = .delivering(schedule, before: before)
        return publish(schedule)
    }

    private func deliver(
        _ schedule: Schedule,
        before: ResourceUsage,
        at now: MonotonicTime
    ) -> BenchStep {
        let step = publish(schedule)
        let tracker = subscribers.tracker
        let all = plan.messageCount * plan.subscribersPerChannel
        generator.progress.show("Delivering", tracker.deliveries, of: all, at: now)
        if tracker.missing == 0 && publisher.unansweredCount == 0 {
            if tracker.sentCount == plan.messageCount {
                let end = now.advanced(by: BenchStep.duplicateWait)
                phase = .awaitingDuplicates(
                    schedule,
                    generator.resourceUsage() - before,
                    until: end
                )
                return .idle
            }
            // Nothing is awaited between two events of a slow rate.
            generator.resetStallTimer(at: now)
        }
        let arrivals = tracker.deliveries + tracker.duplicated + tracker.sentCount
        if generator.isStalled(arrivals, at: now) {
            let usage = generator.resourceUsage() - before
            return .finished(report(schedule, usage, stalled: generator.target.stallTimeout))
        }
        return step
    }

    /// Sends all events that are due; returns how long to wait for the next.
    private func publish(_ schedule: Schedule) -> BenchStep {
        while publisher.canSend {
            let now = MonotonicTime.current
            let tracker = subscribers.tracker
            switch schedule.step(sent: tracker.sentCount, missing: tracker.missing, now: now) {
            case .send(let due):
                let channel = tracker.sentCount % plan.channels.count
                publisher.trigger(subscribers.nextEvent(on: channel, due: due))
            case .wait(let due): return .wait(from: now, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func report(
        _ schedule: Schedule,
        _ usage: ResourceUsage,
        stalled: Duration?
    ) -> BenchReport {
        let tracker = subscribers.tracker
        let time = schedule.start.duration(to: subscribers.lastDeliveryAt ?? schedule.start)
        let server = generator.server
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                BenchReport.Row.deliveries(tracker, of: "deliveries", "deliveries"),
                BenchReport.Row.deflate(subscribers.ramp, of: generator.target),
                [.rate("deliveries", "deliveries", tracker.deliveries, in: time)],
                BenchReport.Row.latency(
                    "latency",
                    "latency",
                    LatencyFigures(subscribers.latencies)
                ),
                BenchReport.Row.cpu(per: "delivery", tracker.deliveries, usage, of: server),
                BenchReport.Row.traffic(per: "delivery", tracker.deliveries, usage),
                BenchReport.Row.memory(of: server),
            ].flatMap { $0 },
            fault: tracker.fault(stalled: stalled)
        )
    }
}
