import CommandSupport
import Histogram
import Net
import PusherProtocol

/// Runs the churn benchmark.
final class ChurnRun: ScenarioRun, BenchClientDelegate {
    let generator: LoadGenerator
    private let cycleCount: Int
    private let concurrency: Int
    private let channel: ChannelName
    private let schedule: Schedule
    private let before: ResourceUsage
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
    init(_ scenario: ChurnCommand, _ channel: ChannelName, _ generator: LoadGenerator) {
        cycleCount = scenario.cycles
        concurrency = scenario.concurrency
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: cycleCount)
        before = generator.resourceUsage()
        let pace: Pace = scenario.rate.map { .rate($0) } ?? .window(concurrency)
        schedule = Schedule(pace: pace, messageCount: cycleCount, start: .current)
        lastClosedAt = schedule.start
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        guard closedCount < cycleCount else { return .finished(after: .zero) }
        generator.progress.show("Connecting", closedCount, of: cycleCount, at: now)
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
        while startedCount - closedCount < concurrency {
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
        try generator.connect(startedCount, self)
        startedCount += 1
    }

    @RowBuilder func rows() -> [Row] {
        let usage = generator.resourceUsage() - before
        let time = schedule.start.duration(to: lastClosedAt)
        Row.count("connections", "cycles", closedCount)
        Row.count("closed without a close frame", "unclean_closes", uncleanCount)
        Row.deflate(ramp, of: generator.target)
        Row.rate("connections", "cycles", closedCount, in: time)
        Row.latency("connect and subscribe", "subscribed_latency", latencies)
        Row.cpu(per: "cycle", closedCount, usage, of: generator.server)
        Row.memory(of: generator.server)
    }

    func fault(stalled: Duration?) -> String? { nil }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        client.subscribe(generator.target.subscription(to: channel, of: socketID))
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
}
