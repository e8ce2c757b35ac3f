import CommandSupport
import Net
import Synchronization

/// What a benchmark is to do, before it has a connection.
protocol BenchPlan: Sendable {
    /// The subcommand's name.
    var benchmark: String { get }
    /// How many connections are open at once, and the option that says so.
    var connections: (count: Int, option: String) { get }
    /// Begins, once the server has been reached.
    func begin(with generator: LoadGenerator) throws(BenchError) -> any BenchRun
}

/// A benchmark that is under way.
protocol BenchRun: AnyObject {
    /// Does what is due; called once a turn of the loop.
    ///
    /// - Parameter now: The time.
    /// - Returns: How to go on.
    /// - Throws: What stands in the way of a result.
    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep
}

/// How a benchmark goes on.
enum BenchStep {
    /// Something may happen, or this time may pass.
    case wait(Duration)
    /// It is over.
    case finished(BenchReport)

    /// How often progress is shown, and how long a turn waits at most.
    static let tick = Duration.milliseconds(100)

    /// How long duplicates are waited for when everything has arrived.
    static let duplicateWait = Duration.milliseconds(200)

    /// Waits until something happens.
    static let idle = BenchStep.wait(tick)

    /// Waits until a time.
    ///
    /// The loop's timers count milliseconds: what is due within one is waited for without sleeping.
    static func wait(from now: MonotonicTime, until due: MonotonicTime) -> BenchStep {
        let rest = now.duration(to: due) - .milliseconds(1)
        return .wait(max(.zero, min(rest, tick)))
    }
}

/// Runs a benchmark on a thread of its own.
actor BenchLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// The report, or what stood in its way; nil while the run goes on.
    nonisolated let outcome = Mutex<Result<BenchReport, BenchError>?>(nil)
    private let reactor: Reactor
    private let plan: any BenchPlan
    private let connector: Connector
    private var phase = Phase.starting
    private var wait = Duration.zero

    private enum Phase {
        /// The loop's clock, from which timeouts count, runs from the first turn on.
        case starting
        /// The first connection tells whether there is a server, and at which address.
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
            throw .machine("The event loop cannot be made: \(error)")
        }
        do throws(TLSError) {
            connector = try Connector(target, addresses: addresses)
        } catch {
            throw .machine("TLS cannot be used: \(error)")
        }
    }

    /// Runs a benchmark and blocks until it has ended.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - target: The server.
    /// - Returns: The report.
    /// - Throws: What stood in its way.
    static func report(
        on plan: any BenchPlan,
        of target: TargetServer
    ) throws(BenchError) -> BenchReport {
        try ConnectionBudget.check(plan.connections.count, option: plan.connections.option)
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(
                host: target.url.host,
                port: target.url.port
            )
        } catch {
            throw .resolution(error)
        }
        let loop = try started { () throws(SystemError) in try EventLoop(name: "bench") }
        let resident = try BenchLoop(plan, of: target, addresses: addresses, loop: loop)
        try started { () throws(SystemError) in try loop.start(resident) }
        loop.join()
        guard let outcome = resident.outcome.withLock({ $0 }) else {
            throw .machine("The event loop ended without a result.")
        }
        return try outcome.get()
    }

    /// Does what starting a thread takes.
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
            end(.failure(explained(error)))
        }
        return false
    }

    /// Does what is due; returns the report once there is one.
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

    /// Names the server's limit of descriptors where that may be why it lets nobody in any more.
    private func explained(_ failure: BenchError) -> BenchError {
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
