import CommandSupport
import Net
import Primitives
import PusherProtocol

final class OverloadRun {
    private let scenario: OverloadCommand
    private let unrelated: UnrelatedChannel
    private let generator: LoadGenerator
    private let readers: OverloadReaders
    private let publishers: [EventPublisher]
    /// The index of the next connection to use with a window.
    private var nextPublisher = 0
    private var results = OverloadResults()
    private var memory: MemoryHistory?

    init(
        _ scenario: OverloadCommand,
        _ channel: ChannelName,
        _ unrelated: UnrelatedChannel,
        _ generator: LoadGenerator
    ) {
        self.scenario = scenario
        self.unrelated = unrelated
        self.generator = generator
        readers = OverloadReaders(
            of: channel,
            count: scenario.subscribers,
            publisherCount: scenario.publishers,
            generator
        )
        let (readers, policy) = (
            readers, EventPublisher.FailurePolicy.count(obeysRetryAfter: scenario.retryAfter)
        )
        publishers = (0..<scenario.publishers).map { _ in
            let publisher = readers.publisher(dataLength: scenario.size, policy: policy)
            publisher.onAnswer = { readers.ledger.answer($0, isAccepted: $1) }
            return publisher
        }
    }

    private var ledger: EventLedger { readers.ledger }
    private var duration: Duration { .seconds(scenario.seconds) }

    func run() throws(BenchError) {
        try generator.connect(readers)
        let unrelatedLoop = try BenchLoop.start(
            unrelated,
            of: generator.target,
            at: [generator.address],
            name: "bench-unrelated"
        )
        generator.onTurn { [unowned self] now throws(BenchError) in
            if case .failure(let failure)? = unrelatedLoop.outcome { throw failure }
            memory?.sample(at: now)
            return nil
        }
        try generator.open(publishers)
        try generator.run { now throws(BenchError) in
            if unrelated.state.isReady { return .done }
            guard generator.isStalled(0, at: now) else { return .idle }
            throw .publisherLost(reason: "no connection in time")
        }
        unrelated.update { $0.loadPhase = .quiet }
        if generator.target.yieldsToServer { ThreadPriority.lower() }
        try generator.wait(for: duration) { generator.progress.show("Quiet", 0, of: 3, at: $0) }
        memory = MemoryHistory(of: generator.server, every: BenchStep.tick)

        unrelated.update { $0.loadPhase = .window }
        try fillWindow()
        // Events in flight are delivered before the overload starts.
        generator.resetStallTimer()
        try generator.run { .until(ledger.isSettled || isStuck(at: $0)) }
        readers.ledger.discardOutstanding()
        _ = readers.takeLatencies()

        let answered = (accepted: ledger.acceptedCount, refused: ledger.refusedCount)
        unrelated.update { $0.loadPhase = .overload }
        try flood()
        results.acceptedCount = ledger.acceptedCount - answered.accepted
        results.refusedCount = ledger.refusedCount - answered.refused
        results.latency = LatencyFigures(readers.takeLatencies())

        unrelated.update { $0.isEnding = true }
        // Deliveries to the readers are duplicates.
        try generator.wait(for: LoadGenerator.duplicateWait)
        try generator.run { _ in
            results.unrelated = unrelated.state.results
            return .until(results.unrelated != nil)
        }
    }

    /// Sends events with a window for the duration of a phase.
    private func fillWindow() throws(BenchError) {
        let (start, before) = (MonotonicTime.current, counters)
        generator.resetStallTimer()
        var isStuck = false
        try generator.run { now in
            show("With a window", 1, at: now)
            isStuck = self.isStuck(at: now)
            if isStuck || start.duration(to: now) >= duration { return .done }
            fill()
            return .idle
        }
        results.window = counters - before
        if isStuck { readers.ledger.discardOutstanding() }
    }

    /// Sends as many events as the sockets take, then waits for their answers and deliveries.
    private func flood() throws(BenchError) {
        let (start, before) = (MonotonicTime.current, counters)
        generator.resetStallTimer()
        let end = scenario.events.map { ledger.sentCount + $0 } ?? .max
        try generator.run { now in
            show("Without a window", 2, at: now)
            let isOver = start.duration(to: now) >= duration || readers.openCount == 0
            guard !isOver, ledger.sentCount < end else { return .done }
            for index in publishers.indices {
                while ledger.sentCount < end, publishers[index].canSend { send(on: index) }
            }
            // A full socket may accept more bytes before any other event.
            return .wait(.milliseconds(1))
        }
        results.overload = counters - before
        results.unansweredCount = ledger.unansweredCount
        generator.resetStallTimer()
        let stoppedAt = MonotonicTime.current
        try generator.run { now in
            show("Draining", 2, at: now)
            results.isStuck = isStuck(at: now)
            return .until(ledger.isSettled || results.isStuck || readers.openCount == 0)
        }
        // The time of a number of events lasts until all are delivered.
        if ledger.sentCount >= end { results.overload = counters - before }
        results.drainTime = stoppedAt.duration(to: .current)
    }

    /// Sends events, over the connections in turn, until the window is full.
    private func fill() {
        var idleCount = 0
        while ledger.outstanding < scenario.window * ledger.readerCount,
            idleCount < publishers.count
        {
            let canSend = publishers[nextPublisher].canSend
            if canSend { send(on: nextPublisher) }
            idleCount = canSend ? 0 : idleCount + 1
            nextPublisher = (nextPublisher + 1) % publishers.count
        }
    }

    private func send(on index: Int) {
        let number = readers.ledger.send(by: index)
        publishers[index].trigger(TriggeredEvent(number: number, due: .current))
    }

    /// The counters now, of which two differ by what a phase measures.
    private var counters: OverloadResults.Phase {
        let time = Duration.nanoseconds(MonotonicTime.current.nanoseconds)
        let usage = generator.resourceUsage()
        return OverloadResults.Phase(deliveries: ledger.deliveries, time: time, usage: usage)
    }

    private func isStuck(at now: MonotonicTime) -> Bool {
        generator.isStalled(ledger.progress, at: now)
    }

    private func show(_ label: String, _ phase: Int, at now: MonotonicTime) {
        generator.progress.show(
            label,
            phase,
            of: 3,
            at: now,
            detail: """
                , \(grouped(ledger.acceptedCount)) × 200, \(grouped(ledger.refusedCount)) × 503, \
                \(grouped(ledger.deliveries)) deliveries, \
                \(grouped(readers.disconnections.total)) closed
                """
        )
    }

    private func sum(_ count: KeyPath<EventPublisher, Int>) -> Int {
        publishers.reduce(0) { $0 + $1[keyPath: count] }
    }

    @RowBuilder func rows() -> [Row] {
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
        Row.count("503 without Retry-After", "no_retry_after", sum(\.withoutRetryAfterCount))
        Row.count("waits for Retry-After", "pauses", sum(\.pauseCount))
        Row.disconnections(
            "subscribers closed",
            "subscribers",
            readers.disconnections,
            ("closed", .integer(readers.disconnections.total))
        )
        results.rows(of: generator.server)
        if let memory { memory.rows(growthMax: scenario.budgetBytes) }
    }

    var fault: String? {
        let (closed, budget) = (readers.disconnections, scenario.budgetBytes)
        return joined(
            [
                ledger.fault(ledger.outcome),
                closed.total > 0
                    ? "\(grouped(closed.total)) subscribers closed: \(closed.description)" : nil,
                counted(sum(\.withoutRetryAfterCount), "answers 503 without Retry-After"),
                counted(sum(\.lostConnectionCount), "publishing connections lost"),
                results.isStuck
                    ? "no delivery for \(generator.target.stallTimeout.inSeconds) s, "
                        + "\(grouped(ledger.unansweredCount)) events unanswered" : nil,
                joined(results.faults(budget: budget, growth: memory?.growth), by: "; "),
            ],
            by: "; "
        )
    }
}
