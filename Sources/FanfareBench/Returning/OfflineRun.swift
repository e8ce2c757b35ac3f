import CommandSupport
import Histogram
import Net
import Primitives

/// Runs the offline benchmark, one step per turn of the loop.
final class OfflineRun: BenchRun {
    private let plan: OfflinePlan
    private let generator: LoadGenerator
    private let clients: ReturningClients
    private let publisher: EventPublisher
    private var phase = Phase.connecting
    private var schedule: Schedule?
    private var sentBeforeSchedule = 0
    private var sentCount = 0
    /// The events that were due while the clients were away.
    private var missed: Range<Int> = 0..<0
    private var missedLatencies = Histogram<UInt64>.latencies
    private var liveLatencies = Histogram<UInt64>.latencies
    private var usage = ResourceUsage()
    /// From when the clients connected again until all were subscribed, and had what they missed.
    private var subscribedTime: Duration?
    private var recoveredTime: Duration?

    private enum Phase {
        case connecting
        case openingPublisher
        case connected(until: MonotonicTime)
        case away(until: MonotonicTime)
        case returning(since: MonotonicTime, before: ResourceUsage)
        case back(until: MonotonicTime)
        /// Nothing is sent any more.
        case finishing
        /// All deliveries have arrived; later ones are repeated.
        case awaitingDuplicates(until: MonotonicTime)
    }

    /// How long events flow before the clients go away, and behind their return.
    private static let margin = Duration.seconds(1)

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: OfflinePlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        clients = ReturningClients(
            count: plan.clientCount,
            channel: plan.channel,
            recovery: plan.recovery,
            generator: generator
        )
        publisher = EventPublisher(
            TriggerRequestBuilder(
                channels: [plan.channel],
                dataLength: plan.dataLength,
                run: clients.run,
                target: generator.target
            ),
            policy: .endRun,
            generator: generator
        )
        clients.onDelivery = { [unowned self] number, due, now in
            if missed.contains(Int(number)) {
                missedLatencies.record(from: due, to: now)
            } else {
                liveLatencies.record(from: due, to: now)
            }
        }
        clients.connectAll()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? clients.failure { throw failure }
        let nextConnection = try clients.connectDue(at: now)
        let nextEvent = publish()
        try advance(at: now)
        if case .awaitingDuplicates(let end) = phase, now >= end { return .finished(report()) }
        if isStalled(at: now) { return .finished(report(stalled: generator.target.stallTimeout)) }
        guard let next = [nextConnection, nextEvent].compactMap({ $0 }).min() else { return .idle }
        return .wait(from: .current, until: next)
    }

    private func advance(at now: MonotonicTime) throws(BenchError) {
        switch phase {
        case .connecting:
            let (subscribed, all) = (clients.subscribedCount, plan.clientCount)
            generator.progress.show("Connecting", subscribed, of: all, at: now)
            guard clients.areSubscribed else { return }
            generator.progress.end()
            publisher.connect()
            phase = .openingPublisher
        case .openingPublisher:
            guard publisher.canSend else { return }
            if !plan.isQuietOtherwise { startPublishing() }
            phase = .connected(until: .current.advanced(by: Self.margin))
        case .connected(let end):
            guard now >= end else { return }
            if plan.isQuietOtherwise { startPublishing() }
            clients.resetAll()
            // Events on their way to the clients are missed too.
            missed = Int(clients.received.firstMissing)..<Int.max
            phase = .away(until: .current.advanced(by: plan.timeAway))
        case .away(let end):
            guard now >= end else { return }
            if plan.isQuietOtherwise { schedule = nil }
            missed = missed.lowerBound..<sentCount
            if let address = plan.returnAddress { generator.connector.move(to: address) }
            clients.connectAll()
            phase = .returning(since: .current, before: generator.resourceUsage())
        case .returning(let start, let before):
            generator.progress.show(
                "Returning",
                clients.subscribedCount,
                of: plan.clientCount,
                at: now
            )
            if subscribedTime == nil, clients.areSubscribed {
                subscribedTime = start.duration(to: now)
            }
            guard clients.areSubscribed,
                plan.recovery == .none
                    || clients.received.isComplete(upTo: UInt32(missed.upperBound))
            else { return }
            recoveredTime = start.duration(to: now)
            usage = generator.resourceUsage() - before
            generator.progress.end()
            phase = .back(until: now.advanced(by: plan.isQuietOtherwise ? .zero : Self.margin))
        case .back(let end):
            guard now >= end else { return }
            schedule = nil
            phase = .finishing
        case .finishing:
            let isComplete = clients.received.isComplete(upTo: UInt32(sentCount))
            guard publisher.unansweredCount == 0, isComplete || plan.recovery == .none else {
                return
            }
            phase = .awaitingDuplicates(until: now.advanced(by: BenchStep.duplicateWait))
        case .awaitingDuplicates: break
        }
    }

    private func isStalled(at now: MonotonicTime) -> Bool {
        let received = clients.received
        return generator.isStalled(
            received.delivered + received.repeated + clients.subscribedCount + sentCount,
            at: now
        )
    }

    // MARK: Events

    private func startPublishing() {
        sentBeforeSchedule = sentCount
        schedule = Schedule(pace: .rate(plan.rate), messageCount: .max, start: .current)
    }

    /// Sends the events that are due; returns when the next one is.
    private func publish() -> MonotonicTime? {
        while let schedule, publisher.canSend {
            let sent = sentCount - sentBeforeSchedule
            switch schedule.step(sent: sent, missing: 0, now: .current) {
            case .send(let due):
                publisher.trigger(TriggeredEvent(number: UInt32(sentCount), due: due))
                sentCount += 1
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    // MARK: Report

    private func report(stalled: Duration? = nil) -> BenchReport {
        let received = clients.received
        let expected = sentCount * plan.clientCount
        let replayed = missed.isEmpty ? 0 : missed.count * plan.clientCount
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline,
            parameters: plan.parameters,
            rows: [
                [
                    BenchReport.Row(
                        label: "deliveries",
                        text: "\(grouped(received.delivered)) of \(grouped(expected))",
                        members: [
                            ("deliveries", .integer(received.delivered)),
                            ("expected", .integer(expected)),
                        ]
                    ),
                    .count("lost", "lost", expected - received.delivered),
                    .count("repeated", "repeated", received.repeated),
                    .count("gaps told", "gaps", clients.gapCount),
                    .count("missed while away", "missed", replayed),
                ],
                subscribedTime.map { [.time("all subscribed after", "subscribed", $0)] } ?? [],
                recoveredTime.map { [.time("all recovered after", "recovered", $0)] } ?? [],
                latency("latency of missed events", "missed_latency", missedLatencies),
                latency("latency of other events", "latency", liveLatencies),
                BenchReport.Row.cpu(per: "return", plan.clientCount, usage, of: generator.server),
                BenchReport.Row.memory(of: generator.server),
            ].flatMap { $0 },
            fault: fault(lost: expected - received.delivered, stalled: stalled)
        )
    }

    private func latency(_ label: String, _ name: String, _ latencies: Histogram<UInt64>)
        -> [BenchReport.Row]
    {
        guard latencies.totalCount > 0 else { return [] }
        return BenchReport.Row.latency(label, name, LatencyFigures(latencies))
    }

    private func fault(lost: Int, stalled: Duration?) -> String? {
        let p99 = Duration.nanoseconds(Int64(clamping: LatencyFigures(missedLatencies).p99))
        var faults: [String] = []
        if let stalled { faults.append("no progress for \(stalled.inSeconds) s") }
        if lost > 0 { faults.append("\(grouped(lost)) lost") }
        if clients.gapCount > 0 { faults.append("\(grouped(clients.gapCount)) gaps told") }
        if plan.recovery == .position, clients.received.repeated > 0 {
            faults.append("\(grouped(clients.received.repeated)) repeated")
        }
        if p99 > plan.latencyMax {
            faults.append("p99 of missed events is \(seconds(p99)), more than --within")
        }
        return faults.isEmpty ? nil : faults.joined(separator: ", ")
    }
}
