import CommandSupport
import Net
import Primitives

/// Runs the overload benchmark, one step per turn of the loop.
final class OverloadRun: BenchRun {
    private let plan: OverloadPlan
    private let generator: LoadGenerator
    private let readers: OverloadReaders
    private let publishers: OverloadPublishers
    private var unrelated: UnrelatedChannel?
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var results = OverloadResults()
    private var memory: PeakMemoryMonitor?
    /// Events answered 200 and 503 before the overload.
    private var answeredBefore = (accepted: 0, refused: 0)

    private enum Phase {
        case connecting
        /// All readers are subscribed; the connections to the HTTP API are being opened.
        case openingPublisher
        case quiet(until: MonotonicTime)
        /// Events with a window.
        case window(Load)
        /// Events in flight are delivered before the overload starts.
        case emptying
        /// Events without a window.
        case overload(Load)
        /// The publishers have stopped; answers and deliveries are awaited. The load is set if a number of events ended
        /// it: its time then lasts until all are delivered.
        case draining(since: MonotonicTime, Load?)
        /// The unrelated channel is ending; deliveries to the readers are duplicates.
        case ending(until: MonotonicTime, stalled: Bool)
    }

    /// The counters at the start of a phase.
    private struct Load {
        var since: MonotonicTime
        var deliveries: Int
        var sent: Int
        var usage: ResourceUsage
    }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: OverloadPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        readers = OverloadReaders(
            of: plan.channel,
            count: plan.readerCount,
            publisherCount: plan.publisherCount,
            generator: generator
        )
        publishers = OverloadPublishers(
            to: readers,
            dataLength: plan.dataLength,
            obeysRetryAfter: plan.obeysRetryAfter,
            generator: generator
        )
    }

    deinit { unrelated?.cancel() }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publishers.failure ?? readers.failure { throw failure }
        if case .failure(let failure) = unrelated?.outcome { throw failure }
        memory?.sample(at: now)
        switch phase {
        case .connecting:
            guard try readers.connect(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            publishers.connect()
            unrelated = try UnrelatedChannel.start(
                plan.unrelatedChannel,
                rate: plan.unrelatedRate,
                by: generator.connector
            )
            phase = .openingPublisher
        case .openingPublisher:
            if publishers.areOpen, unrelated?.isReady == true {
                memory = generator.server.flatMap { PeakMemoryMonitor(of: $0) }
                unrelated?.setLoadPhase(.quiet)
                if plan.yieldsToServer { ThreadPriority.lower() }
                phase = .quiet(until: now.advanced(by: plan.duration))
            } else if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .quiet(let end):
            generator.progress.show("Quiet", 0, of: 3, at: now)
            guard now >= end else { return .wait(from: now, until: end) }
            memory = generator.server.flatMap { PeakMemoryMonitor(of: $0) }
            unrelated?.setLoadPhase(.window)
            phase = .window(begin(at: now))
            publishers.fill(plan.window)
        case .window(let load):
            return fillWindow(load, at: now)
        case .emptying:
            guard readers.ledger.isSettled || isStuck(at: now) else { return .idle }
            readers.ledger.discardOutstanding()
            let ledger = readers.ledger
            answeredBefore = (ledger.acceptedCount, ledger.refusedCount)
            _ = readers.takeLatencies()
            unrelated?.setLoadPhase(.overload)
            phase = .overload(begin(at: now))
            return .wait(.zero)
        case .overload(let load):
            return flood(load, at: now)
        case .draining(let since, let load):
            return drain(since: since, load, at: now)
        case .ending(let end, let stalled):
            guard now >= end, case .success(let found) = unrelated?.outcome else { return .idle }
            results.unrelated = found
            generator.progress.end()
            return .finished(report(isStalled: stalled))
        }
        return .idle
    }

    // MARK: Phases

    private func begin(at now: MonotonicTime) -> Load {
        generator.resetStallTimer(at: now)
        let ledger = readers.ledger
        return Load(
            since: now,
            deliveries: ledger.deliveries,
            sent: ledger.sentCount,
            usage: generator.resourceUsage()
        )
    }

    private func fillWindow(_ load: Load, at now: MonotonicTime) -> BenchStep {
        generator.progress.show("With a window", 1, of: 3, at: now, detail: progress)
        let isStuck = isStuck(at: now)
        guard load.since.duration(to: now) >= plan.duration || isStuck else {
            publishers.fill(plan.window)
            return .idle
        }
        results.window = measured(load, at: now)
        if isStuck { readers.ledger.discardOutstanding() }
        generator.resetStallTimer(at: now)
        phase = .emptying
        return .wait(.zero)
    }

    private func flood(_ load: Load, at now: MonotonicTime) -> BenchStep {
        generator.progress.show("Without a window", 2, of: 3, at: now, detail: progress)
        let sent = readers.ledger.sentCount - load.sent
        let rest = (plan.eventCountMax ?? .max) - sent
        let isOver = load.since.duration(to: now) >= plan.duration || readers.openCount == 0
        guard isOver || rest <= 0 else {
            publishers.flood(atMost: rest)
            // A full socket may accept more bytes before any other event.
            return .wait(.milliseconds(1))
        }
        results.overload = measured(load, at: now)
        results.unansweredCount = readers.ledger.unansweredCount
        generator.resetStallTimer(at: now)
        phase = .draining(since: now, rest <= 0 ? load : nil)
        return .wait(.zero)
    }

    private func measured(_ load: Load, at now: MonotonicTime) -> OverloadResults.Phase {
        OverloadResults.Phase(
            deliveries: readers.ledger.deliveries - load.deliveries,
            time: load.since.duration(to: now),
            usage: generator.resourceUsage() - load.usage
        )
    }

    private func drain(
        since: MonotonicTime,
        _ load: Load?,
        at now: MonotonicTime
    ) -> BenchStep {
        generator.progress.show("Draining", 2, of: 3, at: now, detail: progress)
        let ledger = readers.ledger
        let isStuck = isStuck(at: now)
        guard ledger.isSettled || isStuck || readers.openCount == 0 else { return .idle }
        if let load { results.overload = measured(load, at: now) }
        results.acceptedCount = ledger.acceptedCount - answeredBefore.accepted
        results.refusedCount = ledger.refusedCount - answeredBefore.refused
        results.drainTime = since.duration(to: now)
        results.latency = LatencyFigures(readers.takeLatencies())
        unrelated?.end()
        phase = .ending(until: now.advanced(by: BenchStep.duplicateWait), stalled: isStuck)
        return .idle
    }

    private func isStuck(at now: MonotonicTime) -> Bool {
        let ledger = readers.ledger
        let arrivals = ledger.deliveries + ledger.misplacedCount
        return generator.isStalled(arrivals + ledger.acceptedCount + ledger.refusedCount, at: now)
    }

    private var progress: String {
        let ledger = readers.ledger
        return """
            , \(grouped(ledger.acceptedCount)) × 200, \(grouped(ledger.refusedCount)) × 503, \
            \(grouped(ledger.deliveries)) deliveries, \(grouped(readers.disconnections.total)) closed
            """
    }

    // MARK: The report

    private func report(isStalled: Bool) -> BenchReport {
        let (ledger, outcome) = (readers.ledger, readers.ledger.outcome)
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: rows(ledger, outcome),
            fault: fault(ledger, outcome, isStalled: isStalled)
        )
    }

    private func rows(_ ledger: EventLedger, _ outcome: EventLedger.Outcome) -> [BenchReport.Row] {
        [
            .init(
                label: "deliveries",
                text: """
                    \(grouped(ledger.deliveries)) of \
                    \(grouped(ledger.acceptedCount * ledger.readerCount))
                    """,
                members: [
                    ("deliveries", .integer(ledger.deliveries)),
                    ("expected", .integer(ledger.acceptedCount * ledger.readerCount)),
                ]
            ),
            .count("lost", "lost", outcome.lost),
            .count("repeated or out of order", "misplaced", ledger.misplacedCount),
            .count(
                "delivered though answered 503",
                "delivered_though_refused",
                outcome.deliveredThoughRefused
            ),
            .count("never answered", "unanswered", ledger.unansweredCount),
            .count("503 without Retry-After", "no_retry_after", publishers.withoutRetryAfter),
            .count("waits for Retry-After", "pauses", publishers.pauseCount),
            .init(
                label: "subscribers closed",
                text: readers.disconnections.description,
                members: [("closed", .integer(readers.disconnections.total))]
                    + readers.disconnections.members("subscribers")
            ),
        ] + results.rows(of: generator.server) + (memory?.rows(growthMax: plan.budget) ?? [])
    }

    private func fault(
        _ ledger: EventLedger,
        _ outcome: EventLedger.Outcome,
        isStalled: Bool
    ) -> String? {
        let faults =
            [
                ledger.fault(outcome),
                readers.disconnections.total > 0
                    ? "\(grouped(readers.disconnections.total)) subscribers closed: "
                        + readers.disconnections.description : nil,
                publishers.withoutRetryAfter > 0
                    ? "\(grouped(publishers.withoutRetryAfter)) answers 503 without Retry-After"
                    : nil,
                publishers.lostConnectionCount > 0
                    ? "\(grouped(publishers.lostConnectionCount)) publishing connections lost"
                    : nil,
                isStalled
                    ? "no delivery for \(generator.target.stallTimeout.inSeconds) s, "
                        + "\(grouped(ledger.unansweredCount)) events unanswered" : nil,
            ].compactMap { $0 } + results.faults(plan, growth: memory?.growth)
        return faults.isEmpty ? nil : faults.joined(separator: "; ")
    }
}
