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
actor UnrelatedChannel: LoopResident {
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

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The state that both threads access.
    private struct Shared: Sendable {
        var loadPhase = LoadPhase.none
        var isReady = false
        var isEnding = false
        var isCancelled = false
        var outcome: Result<Results, BenchError>?
    }
    private nonisolated let shared = Mutex(Shared())

    private let reactor: Reactor
    private let readers: OverloadReaders
    private let publisher: EventPublisher
    private let pace: Pace
    private var phase = Phase.starting
    private var loadPhase = LoadPhase.none
    private var latencies = LoadPhase.allCases.map { _ in Histogram<UInt64>.latencies }
    private var stallDetector: StallDetector
    private var wait = Duration.zero
    private var isPrioritized = false

    private enum Phase {
        /// The loop's clock, which timeouts are based on, starts with the first turn.
        case starting, connecting, openingPublisher
        case sending(Schedule, count: Int)
        case ending
    }

    private init(
        _ channel: ChannelName,
        rate: Double,
        target: TargetServer,
        address: SocketAddress,
        loop: EventLoop
    ) throws(BenchError) {
        self.loop = loop
        pace = .rate(rate)
        stallDetector = StallDetector(target.stallTimeout, since: .current)
        var target = target
        // The server's process is measured by the load.
        target.serverID = nil
        let reactor: Reactor
        do throws(SystemError) {
            reactor = try Reactor(loop: loop)
        } catch {
            throw .machine("The event loop cannot be created: \(error)")
        }
        let connector: Connector
        do throws(TLSError) {
            connector = try Connector(target, addresses: [address])
        } catch {
            throw .machine("TLS cannot be set up: \(error)")
        }
        self.reactor = reactor
        let generator = LoadGenerator(connector: connector, reactor: reactor, isLocal: false)
        generator.progress.isHidden = true
        readers = OverloadReaders(of: channel, count: 1, publisherCount: 1, generator: generator)
        publisher = EventPublisher(
            readers.requests(dataLength: 64),
            policy: .count,
            generator: generator
        )
        publisher.onAnswer = { [readers] number, answer in
            readers.ledger.answer(number, isAccepted: answer == .accepted)
        }
    }

    /// Starts the thread, which connects and sends events until ``end()``.
    ///
    /// - Parameters:
    ///   - channel: A public or private channel other than the load's.
    ///   - rate: Events per second.
    ///   - connector: A connector that has reached the server.
    /// - Returns: The channel.
    /// - Throws: When the thread or TLS cannot be set up.
    static func start(
        _ channel: ChannelName,
        rate: Double,
        by connector: Connector
    ) throws(BenchError) -> UnrelatedChannel {
        guard let address = connector.address else { throw .machine("no address to try") }
        let loop = try BenchLoop.started { () throws(SystemError) in
            try EventLoop(name: "bench-unrelated")
        }
        let resident = try UnrelatedChannel(
            channel,
            rate: rate,
            target: connector.target,
            address: address,
            loop: loop
        )
        try BenchLoop.started { () throws(SystemError) in try loop.start(resident) }
        return resident
    }

    // MARK: Called by the load's thread

    /// Whether the reader is subscribed and the publisher connected.
    nonisolated var isReady: Bool { shared.withLock { $0.isReady } }

    /// The results or the error; nil until the thread has ended.
    nonisolated var outcome: Result<Results, BenchError>? { shared.withLock { $0.outcome } }

    /// Sets the phase that latencies are counted for from now on.
    nonisolated func setLoadPhase(_ loadPhase: LoadPhase) {
        shared.withLock { $0.loadPhase = loadPhase }
    }

    /// Stops sending; ``outcome`` is set when all deliveries have arrived, or none did within the stall timeout.
    nonisolated func end() {
        shared.withLock { $0.isEnding = true }
        loop.wake()
    }

    /// Ends the thread at once.
    nonisolated func cancel() {
        shared.withLock { $0.isCancelled = true }
        loop.wake()
    }

    // MARK: On the channel's thread

    func turn() -> Bool {
        reactor.poll(atMost: wait)
        let (now, shared) = (MonotonicTime.current, shared.withLock { $0 })
        if shared.loadPhase != loadPhase {
            latencies[loadPhase.rawValue].add(readers.takeLatencies())
            loadPhase = shared.loadPhase
        }
        do throws(BenchError) {
            guard !shared.isCancelled else { throw .machine("cancelled") }
            if let results = try step(at: now, isEnding: shared.isEnding) {
                finish(.success(results))
                return false
            }
        } catch {
            finish(.failure(error))
            return false
        }
        reactor.flush()
        return true
    }

    private func step(
        at now: MonotonicTime,
        isEnding: Bool
    ) throws(BenchError) -> Results? {
        if let failure = publisher.failure ?? readers.failure { throw failure }
        wait = BenchStep.tick
        switch phase {
        case .starting:
            isPrioritized = ThreadPriority.raise()
            phase = .connecting
            _ = try readers.connect(at: now)
        case .connecting:
            guard try readers.connect(at: now) else { break }
            publisher.connect()
            phase = .openingPublisher
        case .openingPublisher:
            guard publisher.isOpen else { break }
            let start = Schedule(pace: pace, messageCount: .max, start: now)
            phase = .sending(start, count: 0)
            shared.withLock { $0.isReady = true }
            wait = .zero
        case .sending(let schedule, let count):
            if isEnding {
                phase = .ending
                stallDetector.reset(at: now)
                wait = .zero
            } else {
                let sent = send(schedule, count: count)
                phase = .sending(schedule, count: sent)
            }
        case .ending:
            let ledger = readers.ledger
            let isStuck = stallDetector.isStalled(progress: ledger.deliveries, at: now)
            let isComplete = ledger.unansweredCount == 0 && ledger.outstanding <= 0
            guard isComplete || isStuck || readers.openCount == 0 else { break }
            return results
        }
        return nil
    }

    /// Sends all events that are due, and sets the wait for the next.
    private func send(_ schedule: Schedule, count: Int) -> Int {
        var count = count
        while publisher.canSend {
            let now = MonotonicTime.current
            switch schedule.step(sent: count, missing: 0, now: now) {
            case .send(let due):
                let number = readers.ledger.send(by: 0)
                publisher.trigger(TriggeredEvent(number: number, due: due))
                count += 1
            case .wait(let due):
                let rest = now.duration(to: due)
                guard rest < .milliseconds(1) else {
                    wait = min(rest - .milliseconds(1), BenchStep.tick)
                    return count
                }
                ThreadPriority.sleep(for: rest)
            case .waitForDeliveries, .finished: return count
            }
        }
        return count
    }

    private var results: Results {
        latencies[loadPhase.rawValue].add(readers.takeLatencies())
        let ledger = readers.ledger
        let faults = [
            ledger.fault(ledger.outcome),
            ledger.unansweredCount > 0
                ? "\(grouped(ledger.unansweredCount)) events not answered" : nil,
            readers.disconnections.total > 0
                ? "its reader was closed: \(readers.disconnections.description)" : nil,
            publisher.lostConnectionCount > 0 ? "its publishing connection was lost" : nil,
        ].compactMap { $0 }
        return Results(
            latencies: latencies.map { LatencyFigures($0) },
            fault: faults.isEmpty ? nil : faults.joined(separator: ", "),
            refusedCount: ledger.refusedCount,
            isPrioritized: isPrioritized
        )
    }

    private func finish(_ outcome: Result<Results, BenchError>) {
        shared.withLock { $0.outcome = outcome }
        reactor.shutDown()
    }
}
