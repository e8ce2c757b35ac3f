import CommandSupport
import Histogram
import Net
import PusherProtocol
import Synchronization

/// A channel with one publisher and one reader on their own thread: measures how a load on another channel affects it.
///
/// Events are due at fixed times and their latency counts from then, so that neither a slow server nor the load's
/// thread hides a delay. If permitted, the thread takes precedence over others, so that the time it waits for a core is
/// not measured.
final class UnrelatedChannel: Scenario {
    /// The phase of the load that a latency is counted for.
    enum LoadPhase: Int, CaseIterable, Sendable {
        /// Not counted: connecting, or between two phases.
        case none
        /// The load's connections are idle.
        case quiet
        /// Events with a window.
        case window
        /// Events without a window.
        case overload
    }

    /// The results of the channel.
    struct Results: Sendable {
        /// The latency in each phase, by the phase's raw value.
        var latencies: [LatencyFigures]
        /// The faults of its deliveries in one line.
        var fault: String?
        /// Events answered 503.
        var refusedCount: Int
        /// Whether the thread took precedence over others.
        var isPrioritized = false
    }

    /// What both threads access.
    struct State: Sendable {
        /// The phase that latencies are counted for from now on.
        var loadPhase = LoadPhase.none
        /// Whether the reader is subscribed and the publisher connected.
        var isReady = false
        /// Whether nothing is sent any more; ``results`` are set when all deliveries have arrived, or none did within
        /// the stall timeout.
        var isEnding = false
        /// Whether the thread ends at once.
        var isCancelled = false
        var results: Results?
    }

    private let channel: ChannelName
    private let rate: Double
    private let shared = Mutex(State())

    /// Creates a channel other than the load's, with a number of events per second.
    init(_ channel: ChannelName, rate: Double) {
        self.channel = channel
        self.rate = rate
    }

    /// The state now.
    var state: State { shared.withLock { $0 } }

    /// Changes the state.
    func update(_ change: (inout State) -> Void) { shared.withLock { change(&$0) } }

    // MARK: Scenario

    static let name = "unrelated"
    var connections: (count: Int, option: String) { (2, "") }
    var parameters: [BenchReport.Member] { [] }
    func headline(connectingTime: String) -> String { channel.text }

    func begin(with generator: LoadGenerator) -> any ScenarioRun {
        generator.progress.isHidden = true
        return UnrelatedRun(self, channel, rate: rate, generator)
    }
}

/// Runs an unrelated channel, on its thread.
private final class UnrelatedRun: ScenarioRun {
    private let channel: UnrelatedChannel
    private let pace: Pace
    private let generator: LoadGenerator
    private let readers: OverloadReaders
    private let publisher: EventPublisher
    private var phase = Phase.connecting
    private var loadPhase = UnrelatedChannel.LoadPhase.none
    private var latencies = UnrelatedChannel.LoadPhase.allCases.map { _ in
        Histogram<UInt64>.latencies
    }
    private let isPrioritized = ThreadPriority.raise()

    private enum Phase {
        case connecting
        case sending(Schedule, count: Int)
        case ending
    }

    init(
        _ channel: UnrelatedChannel,
        _ name: ChannelName,
        rate: Double,
        _ generator: LoadGenerator
    ) {
        self.channel = channel
        pace = .rate(rate)
        self.generator = generator
        let readers = OverloadReaders(
            of: name,
            count: 1,
            publisherCount: 1,
            generator: generator
        )
        self.readers = readers
        publisher = EventPublisher(
            readers.requests(dataLength: 64),
            policy: .count,
            generator: generator
        )
        publisher.onAnswer = { number, answer in
            readers.ledger.answer(number, isAccepted: answer == .accepted)
        }
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        let state = channel.state
        if state.isCancelled { throw .machine("cancelled") }
        if state.loadPhase != loadPhase {
            latencies[loadPhase.rawValue].add(readers.takeLatencies())
            loadPhase = state.loadPhase
        }
        switch phase {
        case .connecting:
            guard try readers.connect(at: now), try publisher.open(at: now) else { return .idle }
            phase = .sending(Schedule(pace: pace, start: now), count: 0)
            channel.update { $0.isReady = true }
            return .wait(.zero)
        case .sending(let schedule, let count):
            guard state.isEnding else { return send(schedule, count: count) }
            phase = .ending
            generator.resetStallTimer(at: now)
            return .wait(.zero)
        case .ending:
            let isStuck = generator.isStalled(readers.ledger.deliveries, at: now)
            guard readers.ledger.isSettled || isStuck || readers.openCount == 0 else {
                return .idle
            }
            let results = results
            channel.update { $0.results = results }
            return .finished(after: .zero)
        }
    }

    /// Sends all events that are due; returns how long to wait for the next.
    private func send(_ schedule: Schedule, count: Int) -> BenchStep {
        var count = count
        defer { phase = .sending(schedule, count: count) }
        while publisher.canSend {
            let now = MonotonicTime.current
            switch schedule.step(sent: count, missing: 0, now: now) {
            case .send(let due):
                let number = readers.ledger.send(by: 0)
                publisher.trigger(TriggeredEvent(number: number, due: due))
                count += 1
            case .wait(let due):
                let rest = now.duration(to: due)
                guard rest < .milliseconds(1) else { return .wait(from: now, until: due) }
                ThreadPriority.sleep(for: rest)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private var results: UnrelatedChannel.Results {
        latencies[loadPhase.rawValue].add(readers.takeLatencies())
        let ledger = readers.ledger
        let fault = joined([
            ledger.fault(ledger.outcome),
            ledger.unansweredCount > 0
                ? "\(grouped(ledger.unansweredCount)) events not answered" : nil,
            readers.disconnections.total > 0
                ? "its reader was closed: \(readers.disconnections.description)" : nil,
            publisher.lostConnectionCount > 0 ? "its publishing connection was lost" : nil,
        ])
        return UnrelatedChannel.Results(
            latencies: latencies.map { LatencyFigures($0) },
            fault: fault,
            refusedCount: ledger.refusedCount,
            isPrioritized: isPrioritized
        )
    }

    func rows() -> [Row] { [] }

    func fault(stalled: Duration?) -> String? { nil }
}
