import CommandSupport
import Histogram
import Net
import Primitives
import PusherProtocol

final class OfflineRun {
    let clients: ReturningClients
    private let scenario: OfflineCommand
    private let generator: LoadGenerator
    private let publisher: EventPublisher
    /// Nil while nothing is sent.
    private var schedule: Schedule?
    private var sentCount = 0
    /// The events that were due while the clients were away.
    private var missed: Range<Int> = 0..<0
    private var missedLatencies = Histogram<UInt64>.latencies
    private var liveLatencies = Histogram<UInt64>.latencies
    private var usage = ResourceUsage()
    /// From when the clients connected again until all were subscribed, and had what they missed.
    private var subscribedTime: Duration?
    private var recoveredTime: Duration?

    /// How long events flow before the clients go away, and after their return.
    private static let margin = Duration.seconds(1)

    init(_ scenario: OfflineCommand, _ channel: ChannelName, _ generator: LoadGenerator) {
        self.scenario = scenario
        self.generator = generator
        clients = ReturningClients(
            count: scenario.clients,
            channel: channel,
            recovery: scenario.recovery,
            generator: generator
        )
        publisher = EventPublisher(
            to: [channel],
            run: clients.run,
            dataLength: scenario.size,
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
    }

    /// Connects the clients, resets them, and connects them again, to another node if an address is given.
    func leaveAndReturn(to address: SocketAddress?) throws(BenchError) {
        clients.connectAll()
        try awaitUntil { now in
            show("Connecting", at: now)
            return clients.areSubscribed
        }
        generator.progress.end()
        try generator.open([publisher])
        if !scenario.onlyWhileAway { startPublishing() }
        try generator.wait(for: Self.margin)

        if scenario.onlyWhileAway { startPublishing() }
        clients.resetAll()
        // Events on their way to the clients are missed too.
        missed = Int(clients.received.firstMissing)..<Int.max
        try generator.wait(for: .seconds(scenario.away))

        if scenario.onlyWhileAway { schedule = nil }
        missed = missed.lowerBound..<sentCount
        if let address { generator.address = address }
        clients.connectAll()
        let (start, before) = (MonotonicTime.current, generator.resourceUsage())
        try awaitUntil { now in
            show("Returning", at: now)
            guard clients.areSubscribed else { return false }
            subscribedTime = subscribedTime ?? start.duration(to: now)
            return hasRecovered(upTo: missed.upperBound)
        }
        recoveredTime = start.duration(to: .current)
        usage = generator.resourceUsage() - before
        generator.progress.end()

        if !scenario.onlyWhileAway { try generator.wait(for: Self.margin) }
        schedule = nil
        try awaitUntil { _ in publisher.unansweredCount == 0 && hasRecovered(upTo: sentCount) }
    }

    /// Waits until a condition holds; there must be progress meanwhile.
    private func awaitUntil(_ condition: (MonotonicTime) -> Bool) throws(BenchError) {
        try generator.run { now in
            if condition(now) { return .done }
            let received = clients.received.delivered + clients.received.repeated
            let progress = received + clients.subscribedCount + sentCount
            return generator.isStalled(progress, at: now) ? .stalled : .idle
        }
    }

    private func show(_ label: String, at now: MonotonicTime) {
        generator.progress.show(label, clients.subscribedCount, of: clients.count, at: now)
    }

    /// Whether each client has the events before a number, as far as it can get them.
    private func hasRecovered(upTo count: Int) -> Bool {
        scenario.recovery == .none || clients.received.isComplete(upTo: UInt32(count))
    }

    // MARK: Events

    private func startPublishing() {
        schedule = Schedule(.rate(scenario.rate))
    }

    /// Sends the events that are due; returns when the next one is.
    func publish() -> MonotonicTime? {
        schedule?.sendDue(while: publisher.canSend) { due in
            publisher.trigger(TriggeredEvent(number: UInt32(sentCount), due: due))
            sentCount += 1
        } ?? nil
    }

    // MARK: Report

    private var expected: Int { sentCount * clients.count }

    @RowBuilder func rows() -> [Row] {
        let received = clients.received
        let missedCount = missed.clamped(to: 0..<sentCount).count * clients.count
        Row.deliveries(received.delivered, of: expected)
        Row.count("lost", "lost", expected - received.delivered)
        Row.count("repeated", "repeated", received.repeated)
        Row.count("gaps told", "gaps", clients.gapCount)
        Row.count("missed while away", "missed", missedCount)
        if let subscribedTime { Row.time("all subscribed after", "subscribed", subscribedTime) }
        if let recoveredTime { Row.time("all recovered after", "recovered", recoveredTime) }
        if missedLatencies.totalCount > 0 {
            Row.latency("latency of missed events", "missed_latency", missedLatencies)
        }
        if liveLatencies.totalCount > 0 {
            Row.latency("latency of other events", "latency", liveLatencies)
        }
        Row.cpu(per: "return", clients.count, usage, of: generator.server)
        Row.memory(of: generator.server)
    }

    func fault(stalled: Duration?) -> String? {
        let (lost, repeated) = (expected - clients.received.delivered, clients.received.repeated)
        let p99 = Duration.nanoseconds(Int64(clamping: LatencyFigures(missedLatencies).p99))
        return joined([
            stalled.map { "no progress for \($0.inSeconds) s" },
            counted(lost, "lost"),
            counted(clients.gapCount, "gaps told"),
            scenario.recovery == .position ? counted(repeated, "repeated") : nil,
            p99 > .seconds(scenario.within)
                ? "p99 of missed events is \(seconds(p99)), more than --within" : nil,
        ])
    }
}
