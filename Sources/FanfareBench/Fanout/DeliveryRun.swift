import CommandSupport
import Net
import PusherProtocol

/// Runs the benchmarks `fanout` and `channels`.
final class DeliveryRun: ScenarioRun {
    private let eventCount: Int
    private let generator: LoadGenerator
    private let publisher: PacedPublisher
    /// The CPU time and traffic before the first event; nil while connecting.
    private var before: ResourceUsage?
    private var startedAt = MonotonicTime.current

    init(_ scenario: some DeliveryScenario, _ channels: [ChannelName], _ generator: LoadGenerator) {
        eventCount = scenario.messages
        self.generator = generator
        publisher = PacedPublisher(
            to: Subscribers(
                of: channels,
                each: scenario.subscribers,
                recovery: scenario.recovery,
                generator: generator
            ),
            pace: scenario.pacing.pace,
            eventCount: eventCount,
            inFlightMax: nil,
            dataLength: scenario.size
        )
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        guard before != nil else {
            guard try publisher.connect(at: now) else { return .idle }
            before = generator.resourceUsage()
            let next = publisher.step()
            startedAt = publisher.startedAt ?? now
            return .wait(until: next)
        }
        let next = publisher.step()
        let tracker = publisher.subscribers.tracker
        let all = eventCount * tracker.subscribersPerChannel
        generator.progress.show("Delivering", tracker.deliveries, of: all, at: now)
        if publisher.isIdle, tracker.sentCount == eventCount {
            usage = usedSoFar
            return .complete
        }
        return publisher.isStalled(at: now) ? .stalled : .wait(until: next)
    }

    /// The CPU time and traffic of all deliveries; nil until they have arrived.
    private var usage: ResourceUsage?
    private var usedSoFar: ResourceUsage {
        generator.resourceUsage() - (before ?? ResourceUsage())
    }

    @RowBuilder func rows() -> [Row] {
        let subscribers = publisher.subscribers
        let count = subscribers.tracker.deliveries
        let used = usage ?? usedSoFar
        let time = startedAt.duration(to: subscribers.lastDeliveryAt ?? startedAt)
        Row.deliveries(subscribers.tracker)
        Row.deflate(subscribers.ramp, of: generator.target)
        Row.rate("deliveries", "deliveries", count, in: time)
        Row.latency("latency", "latency", subscribers.latencies)
        Row.cpu(per: "delivery", count, used, of: generator.server)
        Row.traffic(per: "delivery", count, used)
        Row.memory(of: generator.server)
    }

    func fault(stalled: Duration?) -> String? {
        publisher.subscribers.tracker.fault(stalled: stalled)
    }
}
