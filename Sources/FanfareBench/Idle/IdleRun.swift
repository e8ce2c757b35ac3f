import CommandSupport
import Net
import Primitives

/// Runs the idle benchmark, one step per turn of the loop.
///
/// At the end one event is sent to all connections, which proves that they are still open.
final class IdleRun: BenchRun {
    private let plan: IdlePlan
    private let generator: LoadGenerator
    private let subscribers: Subscribers
    private let publisher: EventPublisher
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private let memoryBefore: Int
    private let usageBefore: ResourceUsage
    private var costs = Costs()

    private enum Phase {
        case connecting
        /// The server may release memory.
        case settling(until: MonotonicTime)
        case idling(since: MonotonicTime, before: ResourceUsage)
        /// One event is sent to all connections.
        case delivering(until: MonotonicTime?)
    }

    /// The measurements.
    private struct Costs {
        var connectingTime = Duration.zero
        var connecting = ResourceUsage()
        var memory = 0
        var idleTime = Duration.zero
        var idling = ResourceUsage()
    }

    /// How long the server may release memory before it is measured.
    private static let settling = Duration.seconds(1)

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    ///   - memoryBefore: The server's memory before the connections are opened, in bytes.
    init(plan: IdlePlan, generator: LoadGenerator, memoryBefore: Int) {
        self.plan = plan
        self.generator = generator
        self.memoryBefore = memoryBefore
        usageBefore = generator.resourceUsage()
        subscribers = Subscribers(
            channels: [plan.channel],
            subscribersPerChannel: plan.connectionCount,
            recovery: plan.recovery,
            generator: generator
        )
        publisher = EventPublisher(
            subscribers.requests(dataLength: EventMarker.length),
            policy: .endRun,
            generator: generator
        )
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? subscribers.failure { throw failure }
        switch phase {
        case .connecting:
            guard try subscribers.connect(at: now) else { return .idle }
            costs.connectingTime = beganAt.duration(to: now)
            costs.connecting = generator.resourceUsage() - usageBefore
            phase = .settling(until: now.advanced(by: Self.settling))
        case .settling(let end):
            guard now >= end else { return .wait(from: now, until: end) }
            guard let server = generator.server, let memory = server.memory() else {
                throw .noServerProcess
            }
            costs.memory = memory
            phase = .idling(since: .current, before: generator.resourceUsage())
        case .idling(let since, let before):
            let end = since.advanced(by: plan.duration)
            let done = Int(since.duration(to: now) / .milliseconds(1))
            let all = max(1, Int(plan.duration / .milliseconds(1)))
            generator.progress.show("Idling (ms)", min(done, all), of: all, at: now)
            guard now >= end else { return .wait(from: now, until: end) }
            costs.idleTime = since.duration(to: now)
            costs.idling = generator.resourceUsage() - before
            generator.progress.end()
            generator.resetStallTimer(at: now)
            publisher.connect()
            phase = .delivering(until: nil)
        case .delivering(let end?):
            guard now < end else { return .finished(report(stalled: nil)) }
        case .delivering(nil):
            return deliver(at: now)
        }
        return .idle
    }

    private func deliver(at now: MonotonicTime) -> BenchStep {
        let tracker = subscribers.tracker
        if tracker.sentCount == 0, publisher.canSend {
            publisher.trigger(subscribers.nextEvent(on: 0, due: now))
        } else if tracker.sentCount > 0, tracker.missing == 0, publisher.unansweredCount == 0 {
            phase = .delivering(until: now.advanced(by: BenchStep.duplicateWait))
        }
        guard generator.isStalled(tracker.deliveries, at: now) else { return .idle }
        return .finished(report(stalled: generator.target.stallTimeout))
    }

    private func report(stalled: Duration?) -> BenchReport {
        BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: costs.connectingTime),
            parameters: plan.parameters,
            rows: [
                costRows,
                BenchReport.Row.deflate(subscribers.ramp, of: generator.target),
                BenchReport.Row.cpu(
                    per: "connection",
                    plan.connectionCount,
                    costs.connecting,
                    of: generator.server
                ),
                BenchReport.Row.deliveries(
                    subscribers.tracker,
                    of: "reached at the end",
                    "deliveries"
                ),
            ].flatMap { $0 },
            fault: subscribers.tracker.fault(stalled: stalled)
        )
    }

    private var costRows: [BenchReport.Row] {
        let idle = costs.idling.serverTime.map { Double($0) / 1e6 / costs.idleTime.inSeconds }
        return [
            Self.growth(from: memoryBefore, to: costs.memory, of: plan.connectionCount),
            BenchReport.Row(
                label: "memory before, after",
                text: "\(grouped(memoryBefore / 1_024)), \(grouped(costs.memory / 1_024)) KiB",
                members: [
                    ("memory_before_bytes", .integer(memoryBefore)),
                    ("memory_after_bytes", .integer(costs.memory)),
                ]
            ),
            BenchReport.Row(
                label: "idle CPU",
                text: idle.map { "\(decimal($0, places: 3)) ms/s" } ?? "unknown",
                members: [("idle_cpu_ms_per_s", .number(idle, places: 4))]
            ),
            .time("connecting", "connecting", costs.connectingTime),
        ]
    }

    /// The memory per connection; a server that reuses memory from earlier connections shows no growth.
    ///
    /// - Parameters:
    ///   - before: The server's memory before the connections are opened, in bytes.
    ///   - after: The server's memory with the connections, in bytes.
    ///   - connectionCount: The number of connections.
    /// - Returns: Bytes per connection, or that there was no growth: then the member is null.
    static func growth(
        from before: Int,
        to after: Int,
        of connectionCount: Int
    ) -> BenchReport.Row {
        let each = Double(after - before) / Double(connectionCount)
        return BenchReport.Row(
            label: "memory per connection",
            text: each > 0
                ? "\(decimal(each, places: 0)) bytes"
                : "no growth: the server reused memory; restart it and measure again",
            members: [("memory_bytes_per_connection", .number(each > 0 ? each : nil, places: 1))]
        )
    }
}
