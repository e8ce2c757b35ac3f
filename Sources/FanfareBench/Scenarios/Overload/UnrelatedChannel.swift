import CommandSupport
import Glibc
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

    struct Results: Sendable {
        /// The latency in each phase, by the phase's raw value.
        var latencies: [LatencyFigures]
        var fault: String?
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

    init(_ channel: ChannelName, rate: Double) {
        self.channel = channel
        self.rate = rate
    }

    var state: State { shared.withLock { $0 } }
    func update(_ change: (inout State) -> Void) { shared.withLock { change(&$0) } }

    static let name = "unrelated"
    var connections: (count: Int, option: String) { (2, "") }
    var parameters: [BenchReport.Member] { [] }
    func headline(connectingTime: String) -> String { channel.text }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        generator.progress.isHidden = true
        let isPrioritized = ThreadPriority.raise()
        let readers = OverloadReaders(of: channel, count: 1, publisherCount: 1, generator)
        let publisher = readers.publisher(dataLength: 64, policy: .count())
        publisher.onAnswer = { readers.ledger.answer($0, isAccepted: $1) }
        var loadPhase = LoadPhase.none
        var latencies = LoadPhase.allCases.map { _ in Histogram<UInt64>.latencies }
        generator.onTurn { [self] _ throws(BenchError) in
            let state = state
            if state.isCancelled { throw .machine("cancelled") }
            if state.loadPhase != loadPhase {
                latencies[loadPhase.rawValue].add(readers.takeLatencies())
                loadPhase = state.loadPhase
            }
            return nil
        }
        try generator.connect(readers)
        try generator.open([publisher])
        update { $0.isReady = true }
        let schedule = Schedule(.rate(rate))
        try generator.run { _ in
            guard !state.isEnding else { return .done }
            while true {
                let next = schedule.sendDue(while: publisher.canSend) { due in
                    let number = readers.ledger.send(by: 0)
                    publisher.trigger(TriggeredEvent(number: number, due: due))
                }
                let rest = next.map { MonotonicTime.current.duration(to: $0) }
                guard let rest, rest < .milliseconds(1) else { return .wait(until: next) }
                ThreadPriority.sleep(for: rest)
            }
        }
        generator.resetStallTimer()
        try generator.run { now in
            let isStuck = generator.isStalled(readers.ledger.deliveries, at: now)
            return .until(readers.ledger.isSettled || isStuck || readers.openCount == 0)
        }
        latencies[loadPhase.rawValue].add(readers.takeLatencies())
        let results = Results(
            latencies: latencies.map { LatencyFigures($0) },
            fault: Self.fault(of: readers, publisher),
            refusedCount: readers.ledger.refusedCount,
            isPrioritized: isPrioritized
        )
        update { $0.results = results }
        return Findings(fault: nil) {}
    }

    private static func fault(of readers: OverloadReaders, _ publisher: EventPublisher) -> String? {
        let (ledger, closed) = (readers.ledger, readers.disconnections)
        return joined([
            ledger.fault(ledger.outcome),
            counted(ledger.unansweredCount, "events not answered"),
            closed.total > 0 ? "its reader was closed: \(closed.description)" : nil,
            publisher.lostConnectionCount > 0 ? "its publishing connection was lost" : nil,
        ])
    }
}

/// The scheduling of the calling thread.
enum ThreadPriority {
    /// Gives the thread precedence over ordinary threads (`SCHED_RR`); returns whether the process is allowed to.
    static func raise() -> Bool {
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_RR)
        return sched_setscheduler(0, SCHED_RR, &parameters) == 0
    }

    /// Gives the thread the lowest priority, so that a load does not compete with the server for cores.
    ///
    /// This cannot be undone without privileges. Threads that it starts later inherit the priority.
    static func lower() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }

    /// Sleeps for less than the resolution of an event loop's timers, which is 1 ms.
    static func sleep(for time: Duration) {
        let nanoseconds = time.components.attoseconds / 1_000_000_000
        var rest = timespec(tv_sec: Int(time.components.seconds), tv_nsec: Int(nanoseconds))
        // The thread handles no signals, so nothing interrupts it.
        nanosleep(&rest, nil)
    }
}
