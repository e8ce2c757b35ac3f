import CommandSupport
import Histogram
import Net
import PusherProtocol

/// Runs the churn benchmark, one step per turn of the loop.
final class ChurnRun: BenchRun, BenchClientDelegate {
    private let plan: ChurnPlan
    private let generator: LoadGenerator
    private let schedule: Schedule
    private let before: ResourceUsage
    private var failure: BenchError?
    /// When each connection without an acknowledged subscription was due, by its index.
    private var dueTimes: [Int: MonotonicTime] = [:]
    /// Nanoseconds from when a connection was due until its subscription was acknowledged.
    private var latencies = Histogram<UInt64>.latencies
    private var startedCount = 0
    private var closedCount = 0
    /// Connections that the server closed without answering the close frame.
    private var uncleanCount = 0
    /// Counts the subscribed connections.
    private var ramp: ConnectionRamp
    private var lastClosedAt: MonotonicTime

    /// Creates a run that starts now.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: ChurnPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        ramp = ConnectionRamp(count: plan.cycleCount)
        before = generator.resourceUsage()
        schedule = Schedule(pace: plan.pace, messageCount: plan.cycleCount, start: .current)
        lastClosedAt = schedule.start
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure { throw failure }
        guard closedCount < plan.cycleCount else { return .finished(report) }
        generator.progress.show("Connecting", closedCount, of: plan.cycleCount, at: now)
        if startedCount == closedCount { generator.resetStallTimer(at: now) }
        if generator.isStalled(closedCount, at: now) {
            throw .closingStalled(
                closed: closedCount,
                of: startedCount,
                timeout: generator.target.stallTimeout
            )
        }
        return try connect()
    }

    /// Opens all connections that are due; returns how long to wait for the next.
    private func connect() throws(BenchError) -> BenchStep {
        while startedCount - closedCount < plan.concurrency {
            let now = MonotonicTime.current
            let open = startedCount - closedCount
            switch schedule.step(sent: startedCount, missing: open, now: now) {
            case .send(let due): try connect(due: due)
            case .wait(let due): return .wait(from: now, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func connect(due: MonotonicTime) throws(BenchError) {
        dueTimes[startedCount] = due
        try generator.connector.connect(startedCount, delegate: self, on: generator.reactor)
        startedCount += 1
    }

    private var report: BenchReport {
        let usage = generator.resourceUsage() - before
        let time = schedule.start.duration(to: lastClosedAt)
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline,
            parameters: plan.parameters,
            rows: [
                [
                    .count("connections", "cycles", closedCount),
                    .count("closed without a close frame", "unclean_closes", uncleanCount),
                ],
                BenchReport.Row.deflate(ramp, of: generator.target),
                [.rate("connections", "cycles", closedCount, in: time)],
                BenchReport.Row.latency(
                    "connect and subscribe",
                    "subscribed_latency",
                    LatencyFigures(latencies)
                ),
                BenchReport.Row.cpu(per: "cycle", closedCount, usage, of: generator.server),
                BenchReport.Row.memory(of: generator.server),
            ].flatMap { $0 }
        )
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        client.subscribe(generator.target.subscription(to: plan.channel, of: socketID))
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        if let due = dueTimes.removeValue(forKey: client.index) {
            latencies.record(from: due.nanoseconds, to: now)
        }
        ramp.markConnected(client)
        client.close()
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    { false }

    func clientClosed(_ client: BenchClient, isClean: Bool) {
        closedCount += 1
        if !isClean { uncleanCount += 1 }
        lastClosedAt = .current
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
