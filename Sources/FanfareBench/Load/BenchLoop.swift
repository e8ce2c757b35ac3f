import CommandSupport
import Net
import Synchronization

/// The parameters of a benchmark.
protocol BenchPlan: Sendable {
    /// The subcommand's name.
    var benchmark: String { get }
    /// The number of connections that are open at once, and the option that sets it.
    var connections: (count: Int, option: String) { get }
    /// Starts the benchmark; called when the server has been reached.
    func begin(with generator: LoadGenerator) throws(BenchError) -> any BenchRun
}

/// A running benchmark.
protocol BenchRun: AnyObject {
    /// Does what is due; called once per turn of the loop.
    ///
    /// - Parameter now: The time.
    /// - Returns: How the run continues.
    /// - Throws: When there can be no result.
    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep
}

/// How a run continues.
enum BenchStep {
    /// Calls the next step after this time, or earlier when a connection has something to read.
    case wait(Duration)
    /// Ends the run.
    case finished(BenchReport)

    /// The interval of progress updates, and the longest wait of a turn.
    static let tick = Duration.milliseconds(100)

    /// How long to wait for duplicates after the last delivery.
    static let duplicateWait = Duration.milliseconds(200)

    /// Waits for a connection to have something to read.
    static let idle = BenchStep.wait(tick)

    /// Waits until a time.
    ///
    /// The loop's timers have a resolution of 1 ms: for the rest the loop polls without sleeping.
    static func wait(from now: MonotonicTime, until due: MonotonicTime) -> BenchStep {
        let rest = now.duration(to: due) - .milliseconds(1)
        return .wait(max(.zero, min(rest, tick)))
    }
}

/// Runs a benchmark on its own thread.
actor BenchLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// The report or the error; nil while the benchmark runs.
    nonisolated let outcome = Mutex<Result<BenchReport, BenchError>?>(nil)
    private let reactor: Reactor
    private let plan: any BenchPlan
    private let connector: Connector
    private var phase = Phase.starting
    private var wait = Duration.zero

    private enum Phase {
        /// The loop's clock, which timeouts are based on, starts with the first turn.
        case starting
        /// Connects once, to find the server's address.
        case probing(ServerProbe)
        case running(any BenchRun, LoadGenerator)
    }

    private init(
        _ plan: any BenchPlan,
        of target: TargetServer,
        addresses: [SocketAddress],
        loop: EventLoop
    ) throws(BenchError) {
        self.loop = loop
        self.plan = plan
        do throws(SystemError) {
            reactor = try Reactor(loop: loop)
        } catch {
            throw .machine("The event loop cannot be created: \(error)")
        }
        do throws(TLSError) {
            connector = try Connector(target, addresses: addresses)
        } catch {
            throw .machine("TLS cannot be set up: \(error)")
        }
    }

    /// Runs a benchmark; blocks until it has ended.
    ///
    /// - Parameters:
    ///   - plan: The benchmark.
    ///   - target: The server.
    /// - Returns: The report.
    /// - Throws: The error that ended the benchmark.
    static func report(
        on plan: any BenchPlan,
        of target: TargetServer
    ) throws(BenchError) -> BenchReport {
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(
                host: target.url.host,
                port: target.url.port
            )
        } catch {
            throw .resolution(error)
        }
        try ConnectionBudget.check(
            plan.connections.count,
            option: plan.connections.option,
            sourceCount: addresses.map { Connector.sources(for: $0).count }.min() ?? 1
        )
        let loop = try started { () throws(SystemError) in try EventLoop(name: "bench") }
        let resident = try BenchLoop(plan, of: target, addresses: addresses, loop: loop)
        try started { () throws(SystemError) in try loop.start(resident) }
        loop.join()
        guard let outcome = resident.outcome.withLock({ $0 }) else {
            throw .machine("The event loop ended without a result.")
        }
        return try outcome.get()
    }

    /// Wraps an error of starting a thread.
    static func started<T>(_ body: () throws(SystemError) -> T) throws(BenchError) -> T {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .machine("The event loop cannot be started: \(error)")
        }
    }

    func turn() -> Bool {
        reactor.poll(atMost: wait)
        do throws(BenchError) {
            guard let report = try step(at: .current) else {
                reactor.flush()
                return true
            }
            end(.success(report))
        } catch {
            end(.failure(addingServerLimit(error)))
        }
        return false
    }

    /// Does what is due; returns the report when the benchmark has ended.
    private func step(at now: MonotonicTime) throws(BenchError) -> BenchReport? {
        switch phase {
        case .starting:
            phase = .probing(ServerProbe(connector: connector, reactor: reactor))
            return nil
        case .probing(let probe):
            if let failure = probe.failure { throw failure }
            wait = BenchStep.tick
            guard let isLocal = probe.isLocal else { return nil }
            let generator = LoadGenerator(connector: connector, reactor: reactor, isLocal: isLocal)
            phase = .running(try plan.begin(with: generator), generator)
            wait = .zero
            return nil
        case .running(let run, _):
            switch try run.step(at: now) {
            case .wait(let duration):
                wait = duration
                return nil
            case .finished(let report): return report
            }
        }
    }

    /// Adds the server's descriptor limit to an error that it may explain.
    private func addingServerLimit(_ failure: BenchError) -> BenchError {
        switch failure {
        case .connectionRefused, .connectingStalled: break
        default: return failure
        }
        guard case .running(_, let generator) = phase,
            let limit = generator.server?.descriptorLimit, limit <= plan.connections.count
        else { return failure }
        return .serverLimit(limit, reason: "\(failure)")
    }

    private func end(_ outcome: Result<BenchReport, BenchError>) {
        if case .running(_, let generator) = phase { generator.progress.end() }
        self.outcome.withLock { $0 = outcome }
        reactor.shutDown()
    }
}
