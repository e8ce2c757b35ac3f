import CommandSupport
import Net
import Synchronization

/// Runs a benchmark on its own thread.
actor BenchLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private nonisolated let result = Mutex<Result<BenchReport, BenchError>?>(nil)
    private let reactor: Reactor
    private let scenario: any Scenario
    private let connector: Connector
    private var phase = Phase.starting
    private var wait = Duration.zero

    private enum Phase {
        /// The loop's clock, which timeouts are based on, starts with the first turn.
        case starting
        /// Connects once, to find the server's address.
        case probing(ServerProbe)
        case running(any ScenarioRun, LoadGenerator)
        /// The run is complete; what it still receives are duplicates.
        case ending(any ScenarioRun, LoadGenerator, at: MonotonicTime)
    }

    private init(
        _ scenario: any Scenario,
        of target: TargetServer,
        addresses: [SocketAddress],
        loop: EventLoop
    ) throws(BenchError) {
        self.loop = loop
        self.scenario = scenario
        reactor = try BenchLoop.started { () throws(SystemError) in try Reactor(loop: loop) }
        connector = try Connector(target, addresses: addresses)
    }

    /// Runs a benchmark; blocks until it has ended.
    static func report(
        on scenario: any Scenario,
        of target: TargetServer
    ) throws(BenchError) -> BenchReport {
        let addresses = try target.url.addresses()
        try ConnectionBudget.check(
            scenario.connections.count,
            option: scenario.connections.option,
            sourceCount: addresses.map { Connector.sources(for: $0).count }.min() ?? 1
        )
        let resident = try start(scenario, of: target, at: addresses, name: "bench")
        resident.loop.join()
        guard let outcome = resident.outcome else {
            throw .machine("The event loop ended without a result.")
        }
        return try outcome.get()
    }

    /// Starts a benchmark on a thread with a name.
    static func start(
        _ scenario: any Scenario,
        of target: TargetServer,
        at addresses: [SocketAddress],
        name: String
    ) throws(BenchError) -> BenchLoop {
        let loop = try started { () throws(SystemError) in try EventLoop(name: name) }
        let resident = try BenchLoop(scenario, of: target, addresses: addresses, loop: loop)
        try started { () throws(SystemError) in try loop.start(resident) }
        return resident
    }

    /// The report or the error; nil while the benchmark runs.
    nonisolated var outcome: Result<BenchReport, BenchError>? { result.withLock { $0 } }

    /// Wraps an error of creating a loop or starting its thread.
    private static func started<T>(_ body: () throws(SystemError) -> T) throws(BenchError) -> T {
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
            phase = .running(try scenario.begin(with: generator), generator)
            wait = .zero
            return nil
        case .running(let run, let generator):
            if let failure = generator.failure { throw failure }
            switch try run.step(at: now) {
            case .wait(let duration): wait = duration
            case .finished(after: .zero): return report(run, generator)
            case .finished(let rest):
                wait = BenchStep.tick
                phase = .ending(run, generator, at: now.advanced(by: rest))
            case .stalled: return report(run, generator, stalled: connector.target.stallTimeout)
            }
            return nil
        case .ending(let run, let generator, let end):
            if let failure = generator.failure { throw failure }
            return now < end ? nil : report(run, generator)
        }
    }

    private func report(
        _ run: any ScenarioRun,
        _ generator: LoadGenerator,
        stalled: Duration? = nil
    ) -> BenchReport {
        generator.progress.end()
        return BenchReport(
            benchmark: type(of: scenario).name,
            url: connector.target.url.text,
            headline: scenario.headline(connectingTime: seconds(generator.connectingTime)),
            parameters: scenario.parameters,
            rows: run.rows(),
            fault: run.fault(stalled: stalled)
        )
    }

    /// Adds the server's descriptor limit to an error that it may explain.
    private func addingServerLimit(_ failure: BenchError) -> BenchError {
        switch failure {
        case .connectionRefused, .connectingStalled: break
        default: return failure
        }
        guard case .running(_, let generator) = phase,
            let limit = generator.server?.descriptorLimit, limit <= scenario.connections.count
        else { return failure }
        return .serverLimit(limit, reason: "\(failure)")
    }

    private func end(_ outcome: Result<BenchReport, BenchError>) {
        switch phase {
        case .running(_, let generator), .ending(_, let generator, _): generator.progress.end()
        case .starting, .probing: break
        }
        result.withLock { $0 = outcome }
        reactor.shutDown()
    }
}
