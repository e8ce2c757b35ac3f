import CommandSupport
import Histogram
import Net
import PusherProtocol

/// A churn benchmark from its first connection to the report; a step a turn of the loop.
final class ChurnRun: BenchRun, Crowd {
    private let plan: ChurnPlan
    private let generator: Generator
    private let schedule: Schedule
    private let before: Meters
    private var failure: BenchError?
    /// When each connection that is not acknowledged yet was due, by its index.
    private var dueTimes: [Int: MonotonicTime] = [:]
    /// Nanoseconds from when a connection was due to the acknowledgement of its subscription.
    private var latencies = Histogram<UInt64>.latencies
    private var begunCount = 0
    private var closedCount = 0
    /// How many the server closed without an answer to the close frame.
    private var uncleanCount = 0
    /// To how many the server granted permessage-deflate.
    private var admission: Admission
    private var lastClosedAt: MonotonicTime

    /// A run that begins now.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    init(plan: ChurnPlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        admission = Admission(count: plan.cycleCount)
        before = generator.meters()
        schedule = Schedule(pace: plan.pace, messageCount: plan.cycleCount, start: .current)
        lastClosedAt = schedule.start
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure { throw failure }
        guard closedCount < plan.cycleCount else { return .finished(report) }
        generator.progress.show("Connecting", closedCount, of: plan.cycleCount, at: now)
        if begunCount == closedCount { generator.renewPatience(at: now) }
        if generator.isStalled(closedCount, at: now) {
            throw .closingStalled(
                closed: closedCount,
                of: begunCount,
                patience: generator.subject.patience
            )
        }
        return try connect()
    }

    /// Begins all connections that are due, and says when the next one is.
    private func connect() throws(BenchError) -> BenchStep {
        while begunCount - closedCount < plan.concurrency {
            let now = MonotonicTime.current
            let open = begunCount - closedCount
            switch schedule.step(sent: begunCount, missing: open, now: now) {
            case .send(let due): try connect(due: due)
            case .wait(let due): return .wait(from: now, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func connect(due: MonotonicTime) throws(BenchError) {
        dueTimes[begunCount] = due
        try generator.dialer.connect(begunCount, of: self, on: generator.reactor)
        begunCount += 1
    }

    private var report: BenchReport {
        let meters = generator.meters() - before
        let time = schedule.start.duration(to: lastClosedAt)
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline,
            parameters: plan.parameters,
            rows: [
                [
                    .count("connections", "cycles", closedCount),
                    .count("closed without a close frame", "unclean_closes", uncleanCount),
                ],
                BenchReport.Row.deflate(admission, of: generator.subject),
                [.rate("connections", "cycles", closedCount, in: time)],
                BenchReport.Row.latency(
                    "connect and subscribe",
                    "subscribed_latency",
                    LatencyFigures(latencies)
                ),
                BenchReport.Row.cpu(per: "cycle", closedCount, meters, of: generator.server),
                BenchReport.Row.memory(of: generator.server),
            ].flatMap { $0 }
        )
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        device.subscribe(generator.subject.subscription(to: plan.channel, of: socketID))
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) {
        if let due = dueTimes.removeValue(forKey: device.index) {
            latencies.record(from: due.nanoseconds, to: now)
        }
        admission.admit(device)
        device.leave()
    }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool { false }

    func left(_ device: Device, isClean: Bool) {
        closedCount += 1
        if !isClean { uncleanCount += 1 }
        lastClosedAt = .current
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
