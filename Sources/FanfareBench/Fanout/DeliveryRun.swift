import CommandSupport
import Net

/// A delivery benchmark from its first connection to the report; a step a turn of the loop.
final class DeliveryRun: BenchRun {
    private let plan: DeliveryPlan
    private let generator: Generator
    private let audience: Subscribers
    private let publisher: Publisher
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero

    private enum Phase {
        case connecting
        /// Everybody is there; the HTTP API is to be reached.
        case reaching
        case delivering(Schedule, before: Meters)
        /// Everything has arrived; what comes now comes twice.
        case listening(Schedule, Meters, until: MonotonicTime)
    }

    /// A run that has yet to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    init(plan: DeliveryPlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        audience = Subscribers(
            channels: plan.channels,
            subscribersPerChannel: plan.subscribersPerChannel,
            generator: generator
        )
        publisher = Publisher(generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? audience.failure { throw failure }
        switch phase {
        case .connecting:
            guard try audience.assemble(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            publisher.connect()
            phase = .reaching
        case .reaching:
            if publisher.canPublish { return beginDelivering() }
            if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .delivering(let schedule, let before):
            return deliver(schedule, before: before, at: now)
        case .listening(let schedule, let meters, let end):
            guard now < end else { return .finished(report(schedule, meters, stalled: nil)) }
        }
        return .idle
    }

    private func beginDelivering() -> BenchStep {
        let before = generator.meters()
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
        before: Meters,
        at now: MonotonicTime
    ) -> BenchStep {
        let step = publish(schedule)
        let tally = audience.tally
        let all = plan.messageCount * plan.subscribersPerChannel
        generator.progress.show("Delivering", tally.deliveries, of: all, at: now)
        if tally.missing == 0 && publisher.unansweredCount == 0 {
            if tally.sentCount == plan.messageCount {
                let end = now.advanced(by: BenchStep.aftermath)
                phase = .listening(schedule, generator.meters() - before, until: end)
                return .idle
            }
            // Between two events of a slow rate there is nothing to lose patience with.
            generator.renewPatience(at: now)
        }
        let arrivals = tally.deliveries + tally.duplicated + tally.sentCount
        if generator.isStalled(arrivals, at: now) {
            let meters = generator.meters() - before
            return .finished(report(schedule, meters, stalled: generator.subject.patience))
        }
        return step
    }

    /// Sends all events that are due, and says when the next one is.
    private func publish(_ schedule: Schedule) -> BenchStep {
        while publisher.canPublish {
            let now = MonotonicTime.current
            let tally = audience.tally
            switch schedule.step(sent: tally.sentCount, missing: tally.missing, now: now) {
            case .send(let due):
                let channel = tally.sentCount % plan.channels.count
                let data = audience.nextData(on: channel, length: plan.dataLength, due: due)
                publisher.publish(data, to: plan.channels[channel])
            case .wait(let due): return .wait(from: now, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func report(
        _ schedule: Schedule,
        _ meters: Meters,
        stalled: Duration?
    ) -> BenchReport {
        let tally = audience.tally
        let time = schedule.start.duration(to: audience.lastDeliveryAt ?? schedule.start)
        let server = generator.server
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                BenchReport.Row.tally(tally, of: "deliveries", "deliveries"),
                BenchReport.Row.deflate(audience.admission, of: generator.subject),
                [.rate("deliveries", "deliveries", tally.deliveries, in: time)],
                BenchReport.Row.latency("latency", "latency", LatencyFigures(audience.latencies)),
                BenchReport.Row.cpu(per: "delivery", tally.deliveries, meters, of: server),
                BenchReport.Row.traffic(per: "delivery", tally.deliveries, meters),
                BenchReport.Row.memory(of: server),
            ].flatMap { $0 },
            fault: tally.fault(stalled: stalled)
        )
    }
}
