import CommandSupport
import Net
import Primitives
import PusherProtocol

/// Runs the overload benchmark.
final class OverloadRun: ScenarioRun {
    private let duration: Duration
    private let window: Int
    private let eventCountMax: Int
    /// The allowed growth of the server's memory in bytes; nil for no limit.
    private let budget: Int?
    private let unrelated: UnrelatedChannel
    private var unrelatedLoop: BenchLoop?
    private let generator: LoadGenerator
    private let readers: OverloadReaders
    private let publishers: OverloadPublishers
    private var phase = Phase.connecting
    private var results = OverloadResults()
    /// Whether answers or deliveries stayed out for the stall timeout.
    private var isStalled = false
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

    init(
        _ scenario: OverloadCommand,
        _ channel: ChannelName,
        unrelated: ChannelName,
        _ generator: LoadGenerator
    ) {
        duration = .seconds(scenario.seconds)
        window = scenario.window
        eventCountMax = scenario.events ?? .max
        budget = scenario.budgetBytes
        self.unrelated = UnrelatedChannel(unrelated, rate: scenario.rate)
        self.generator = generator
        readers = OverloadReaders(
            of: channel,
            count: scenario.subscribers,
            publisherCount: scenario.publishers,
            generator: generator
        )
        publishers = OverloadPublishers(
            to: readers,
            dataLength: scenario.size,
            obeysRetryAfter: scenario.retryAfter,
            generator: generator
        )
    }

    deinit { unrelated.update { $0.isCancelled = true } }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if case .failure(let failure)? = unrelatedLoop?.outcome { throw failure }
        memory?.sample(at: now)
        switch phase {
        case .connecting:
            guard try readers.connect(at: now) else { return .idle }
            unrelatedLoop = try BenchLoop.start(
                unrelated,
                of: generator.target,
                at: generator.connector.address.map { [$0] } ?? [],
                name: "bench-unrelated"
            )
            phase = .openingPublisher
        case .openingPublisher:
            if try publishers.open(at: now), unrelated.state.isReady {
                memory = generator.server.flatMap { PeakMemoryMonitor(of: $0) }
                unrelated.update { $0.loadPhase = .quiet }
                if generator.target.yieldsToServer { ThreadPriority.lower() }
                phase = .quiet(until: now.advanced(by: duration))
            } else if generator.isStalled(0, at: now) {
                throw .publisherLost(reason: "no connection in time")
            }
        case .quiet(let end):
            generator.progress.show("Quiet", 0, of: 3, at: now)
            guard now >= end else { return .wait(from: now, until: end) }
            memory = generator.server.flatMap { PeakMemoryMonitor(of: $0) }
            unrelated.update { $0.loadPhase = .window }
            phase = .window(begin(at: now))
            publishers.fill(window)
        case .window(let load):
            return fillWindow(load, at: now)
        case .emptying:
            guard readers.ledger.isSettled || isStuck(at: now) else { return .idle }
            readers.ledger.discardOutstanding()
            let ledger = readers.ledger
            answeredBefore = (ledger.acceptedCount, ledger.refusedCount)
            _ = readers.takeLatencies()
            unrelated.update { $0.loadPhase = .overload }
            phase = .overload(begin(at: now))
            return .wait(.zero)
        case .overload(let load):
            return flood(load, at: now)
        case .draining(let since, let load):
            return drain(since: since, load, at: now)
        case .ending(let end, let stalled):
            guard now >= end, let found = unrelated.state.results else { return .idle }
            results.unrelated = found
            isStalled = stalled
            return .finished(after: .zero)
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
        guard load.since.duration(to: now) >= duration || isStuck else {
            publishers.fill(window)
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
        let rest = eventCountMax - sent
        let isOver = load.since.duration(to: now) >= duration || readers.openCount == 0
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
        unrelated.update { $0.isEnding = true }
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

    @RowBuilder func rows() -> [Row] {
        let ledger = readers.ledger
        let outcome = ledger.outcome
        Row.deliveries(ledger.deliveries, of: ledger.acceptedCount * ledger.readerCount)
        Row.count("lost", "lost", outcome.lost)
        Row.count("repeated or out of order", "misplaced", ledger.misplacedCount)
        Row.count(
            "delivered though answered 503",
            "delivered_though_refused",
            outcome.deliveredThoughRefused
        )
        Row.count("never answered", "unanswered", ledger.unansweredCount)
        Row.count("503 without Retry-After", "no_retry_after", publishers.withoutRetryAfter)
        Row.count("waits for Retry-After", "pauses", publishers.pauseCount)
        Row.disconnections(
            "subscribers closed",
            "subscribers",
            readers.disconnections,
            [("closed", .integer(readers.disconnections.total))]
        )
        results.rows(of: generator.server)
        if let memory { memory.rows(growthMax: budget) }
    }

    func fault(stalled: Duration?) -> String? {
        let (ledger, closed) = (readers.ledger, readers.disconnections)
        return joined(
            [
                ledger.fault(ledger.outcome),
                closed.total > 0
                    ? "\(grouped(closed.total)) subscribers closed: \(closed.description)" : nil,
                publishers.withoutRetryAfter > 0
                    ? "\(grouped(publishers.withoutRetryAfter)) answers 503 without Retry-After"
                    : nil,
                publishers.lostConnectionCount > 0
                    ? "\(grouped(publishers.lostConnectionCount)) publishing connections lost"
                    : nil,
                isStalled
                    ? "no delivery for \(generator.target.stallTimeout.inSeconds) s, "
                        + "\(grouped(ledger.unansweredCount)) events unanswered" : nil,
                joined(results.faults(budget: budget, growth: memory?.growth), by: "; "),
            ],
            by: "; "
        )
    }
}
