import CommandSupport
import Histogram
import Net
import Primitives
import PusherProtocol

/// Runs the offline benchmark.
final class OfflineRun: ScenarioRun {
    private let scenario: OfflineCommand
    private let generator: LoadGenerator
    private let clients: ReturningClients
    private let publisher: EventPublisher
    private let returnAddress: SocketAddress?
    private var phase = Phase.connecting
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

    private enum Phase {
        case connecting
        case openingPublisher
        case connected(until: MonotonicTime)
        case away(until: MonotonicTime)
        case returning(since: MonotonicTime, before: ResourceUsage)
        case back(until: MonotonicTime)
        /// Nothing is sent any more.
        case finishing
    }

    /// How long events flow before the clients go away, and after their return.
    private static let margin = Duration.seconds(1)

    init(
        _ scenario: OfflineCommand,
        _ channel: ChannelName,
        _ generator: LoadGenerator,
        returningTo address: SocketAddress?
    ) {
        self.scenario = scenario
        self.generator = generator
        returnAddress = address
        clients = ReturningClients(
            count: scenario.clients,
            channel: channel,
            recovery: scenario.recovery,
            generator: generator
        )
        publisher = EventPublisher(
            TriggerRequestBuilder(
                channels: [channel],
                dataLength: scenario.size,
                run: clients.run,
                target: generator.target
            ),
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
        clients.connectAll()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        let nextConnection = try clients.connectDue(at: now)
        let nextEvent = publish()
        if try advance(at: now) { return .complete }
        return isStalled(at: now) ? .stalled : .wait(until: earlier(nextConnection, nextEvent))
    }

    /// Begins the next phase where it is due; returns whether the last one has ended.
    private func advance(at now: MonotonicTime) throws(BenchError) -> Bool {
        switch phase {
        case .connecting:
            let (subscribed, all) = (clients.subscribedCount, clients.count)
            generator.progress.show("Connecting", subscribed, of: all, at: now)
            guard clients.areSubscribed else { break }
            generator.progress.end()
            phase = .openingPublisher
        case .openingPublisher:
            guard try publisher.open(at: now) else { break }
            if !scenario.onlyWhileAway { startPublishing() }
            phase = .connected(until: .current.advanced(by: Self.margin))
        case .connected(let end):
            guard now >= end else { break }
            if scenario.onlyWhileAway { startPublishing() }
            clients.resetAll()
            // Events on their way to the clients are missed too.
            missed = Int(clients.received.firstMissing)..<Int.max
            phase = .away(until: .current.advanced(by: .seconds(scenario.away)))
        case .away(let end):
            guard now >= end else { break }
            if scenario.onlyWhileAway { schedule = nil }
            missed = missed.lowerBound..<sentCount
            if let returnAddress { generator.connector.move(to: returnAddress) }
            clients.connectAll()
            phase = .returning(since: .current, before: generator.resourceUsage())
        case .returning(let start, let before):
            let (subscribed, all) = (clients.subscribedCount, clients.count)
            generator.progress.show("Returning", subscribed, of: all, at: now)
            guard clients.areSubscribed else { break }
            subscribedTime = subscribedTime ?? start.duration(to: now)
            guard hasRecovered(upTo: missed.upperBound) else { break }
            recoveredTime = start.duration(to: now)
            usage = generator.resourceUsage() - before
            generator.progress.end()
            phase = .back(until: now.advanced(by: scenario.onlyWhileAway ? .zero : Self.margin))
        case .back(let end):
            guard now >= end else { break }
            schedule = nil
            phase = .finishing
        case .finishing:
            return publisher.unansweredCount == 0 && hasRecovered(upTo: sentCount)
        }
        return false
    }

    /// Whether each client has the events before a number, as far as it can get them.
    private func hasRecovered(upTo count: Int) -> Bool {
        scenario.recovery == .none || clients.received.isComplete(upTo: UInt32(count))
    }

    private func isStalled(at now: MonotonicTime) -> Bool {
        // Opening has a timeout of its own.
        if case .openingPublisher = phase { return false }
        let received = clients.received
        return generator.isStalled(
            received.delivered + received.repeated + clients.subscribedCount + sentCount,
            at: now
        )
    }

    // MARK: Events

    private func startPublishing() {
        schedule = Schedule(pace: .rate(scenario.rate), start: .current, sentBefore: sentCount)
    }

    /// Sends the events that are due; returns when the next one is.
    private func publish() -> MonotonicTime? {
        while let schedule, publisher.canSend {
            switch schedule.step(sent: sentCount, missing: 0, now: .current) {
            case .send(let due):
                publisher.trigger(TriggeredEvent(number: UInt32(sentCount), due: due))
                sentCount += 1
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    // MARK: Report

    private var expected: Int { sentCount * clients.count }

    @RowBuilder func rows() -> [Row] {
        let received = clients.received
        Row.deliveries(received.delivered, of: expected)
        Row.count("lost", "lost", expected - received.delivered)
        Row.count("repeated", "repeated", received.repeated)
        Row.count("gaps told", "gaps", clients.gapCount)
        Row.count(
            "missed while away",
            "missed",
            missed.clamped(to: 0..<sentCount).count * clients.count
        )
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
            lost > 0 ? "\(grouped(lost)) lost" : nil,
            clients.gapCount > 0 ? "\(grouped(clients.gapCount)) gaps told" : nil,
            scenario.recovery == .position && repeated > 0 ? "\(grouped(repeated)) repeated" : nil,
            p99 > .seconds(scenario.within)
                ? "p99 of missed events is \(seconds(p99)), more than --within" : nil,
        ])
    }
}
