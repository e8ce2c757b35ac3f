import CommandSupport
import HTTPClient
import Net
import Synchronization

/// Runs a benchmark on its own thread, as a single turn of the thread's loop.
actor BenchLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private nonisolated let result = Mutex<Result<BenchReport, BenchError>?>(nil)
    private let scenario: any Scenario
    private let target: TargetServer
    private let addresses: [SocketAddress]

    private init(
        _ scenario: any Scenario,
        of target: TargetServer,
        at addresses: [SocketAddress],
        loop: EventLoop
    ) {
        self.scenario = scenario
        self.target = target
        self.addresses = addresses
        self.loop = loop
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
            sourceCount: addresses.map { LoadGenerator.sources(for: $0).count }.min() ?? 1
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
        try started { () throws(SystemError) in
            let loop = try EventLoop(name: name)
            let resident = BenchLoop(scenario, of: target, at: addresses, loop: loop)
            try loop.start(resident)
            return resident
        }
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
        let outcome: Result<BenchReport, BenchError>
        do throws(BenchError) {
            outcome = .success(try report())
        } catch {
            outcome = .failure(error)
        }
        result.withLock { $0 = outcome }
        return false
    }

    private func report() throws(BenchError) -> BenchReport {
        let loop = loop
        let reactor = try Self.started { () throws(SystemError) in try Reactor(loop: loop) }
        defer { reactor.shutDown() }
        let generator = try LoadGenerator(target, at: addresses, on: reactor)
        defer { generator.end() }
        do throws(BenchError) {
            let findings = try scenario.measure(with: generator)
            return BenchReport(
                benchmark: type(of: scenario).name,
                url: target.url.webSocketURL,
                headline: scenario.headline(connectingTime: seconds(generator.connectingTime)),
                parameters: scenario.parameters,
                rows: findings.rows,
                fault: findings.fault
            )
        } catch {
            throw addingServerLimit(generator.server, to: error)
        }
    }

    /// Adds the server's descriptor limit to an error that it may explain.
    private func addingServerLimit(_ server: ServerProcess?, to failure: BenchError) -> BenchError {
        switch failure {
        case .connectionRefused, .connectingStalled: break
        default: return failure
        }
        guard let limit = server?.descriptorLimit, limit <= scenario.connections.count
        else { return failure }
        return .serverLimit(limit, reason: "\(failure)")
    }
}
