import CommandSupport
import Net
import Primitives
import PusherProtocol

/// Runs the idle benchmark.
///
/// At the end one event is sent to all connections, which proves that they are still open.
final class IdleRun: ScenarioRun {
    private let duration: Duration
    private let generator: LoadGenerator
    private let subscribers: Subscribers
    private let publisher: PacedPublisher
    private var phase = Phase.connecting
    private let memoryBefore: Int
    private let usageBefore: ResourceUsage
    private var connecting = ResourceUsage()
    private var memory = 0
    private var idle: (time: Duration, usage: ResourceUsage)?

    private enum Phase {
        case connecting
        /// The server may release memory.
        case settling(until: MonotonicTime)
        case idling(since: MonotonicTime, before: ResourceUsage)
        /// One event is sent to all connections.
        case delivering
    }

    /// How long the server may release memory before it is measured.
    private static let settling = Duration.seconds(1)

    /// Creates a run; the server's memory was measured before the connections are opened, in bytes.
    init(
        _ scenario: IdleCommand,
        _ channel: ChannelName,
        _ generator: LoadGenerator,
        memoryBefore: Int
    ) {
        duration = .seconds(scenario.seconds)
        self.generator = generator
        self.memoryBefore = memoryBefore
        usageBefore = generator.resourceUsage()
        subscribers = Subscribers(
            of: [channel],
            each: scenario.connectionCount,
            recovery: scenario.recovery,
            generator: generator
        )
        publisher = PacedPublisher(
            to: subscribers,
            pace: .window(1),
            eventCount: 1,
            dataLength: EventMarker.length
        )
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        switch phase {
        case .connecting:
            guard try subscribers.connect(at: now) else { return .idle }
            connecting = generator.resourceUsage() - usageBefore
            phase = .settling(until: now.advanced(by: Self.settling))
        case .settling(let end):
            guard now >= end else { return .wait(from: now, until: end) }
            guard let memory = generator.server?.memory() else { throw .noServerProcess }
            self.memory = memory
            phase = .idling(since: .current, before: generator.resourceUsage())
        case .idling(let since, let before):
            let end = since.advanced(by: duration)
            let done = Int(since.duration(to: now) / .milliseconds(1))
            let all = max(1, Int(duration / .milliseconds(1)))
            generator.progress.show("Idling (ms)", min(done, all), of: all, at: now)
            guard now >= end else { return .wait(from: now, until: end) }
            idle = (since.duration(to: now), generator.resourceUsage() - before)
            generator.progress.end()
            generator.resetStallTimer(at: now)
            phase = .delivering
        case .delivering:
            guard try publisher.connect(at: now) || publisher.startedAt != nil else { break }
            _ = publisher.step()
            if publisher.isIdle { return .complete }
            return publisher.isStalled(at: now) ? .stalled : .idle
        }
        return .idle
    }

    @RowBuilder func rows() -> [Row] {
        let count = subscribers.ramp.count
        let rate = idle.flatMap { idle in
            idle.usage.serverTime.map { Double($0) / 1e6 / idle.time.inSeconds }
        }
        Self.growth(from: memoryBefore, to: memory, of: count)
        Row.row(
            "memory before, after",
            "\(grouped(memoryBefore / 1_024)), \(grouped(memory / 1_024)) KiB",
            ("memory_before_bytes", .integer(memoryBefore)),
            ("memory_after_bytes", .integer(memory))
        )
        Row.row(
            "idle CPU",
            rate.map { "\(decimal($0, places: 3)) ms/s" } ?? "unknown",
            ("idle_cpu_ms_per_s", .number(rate, places: 4))
        )
        Row.time("connecting", "connecting", generator.connectingTime)
        Row.deflate(subscribers.ramp, of: generator.target)
        Row.cpu(per: "connection", count, connecting, of: generator.server)
        Row.deliveries(subscribers.tracker, "reached at the end")
    }

    func fault(stalled: Duration?) -> String? { subscribers.tracker.fault(stalled: stalled) }

    /// The memory per connection; no growth, and a null member, where the server reused memory.
    static func growth(
        from before: Int,
        to after: Int,
        of connectionCount: Int
    ) -> Row {
        let each = Double(after - before) / Double(connectionCount)
        return .row(
            "memory per connection",
            each > 0
                ? "\(decimal(each, places: 0)) bytes"
                : "no growth: the server reused memory; restart it and measure again",
            ("memory_bytes_per_connection", .number(each > 0 ? each : nil, places: 1))
        )
    }
}
