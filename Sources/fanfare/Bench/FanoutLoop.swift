import Net
import Synchronization

/// Runs a fan-out benchmark on a thread of its own.
actor FanoutLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// The report, or what stood in its way; nil while the run goes on.
    nonisolated let outcome = Mutex<Result<FanoutReport, BenchError>?>(nil)
    private let reactor: Reactor
    private let run: FanoutRun
    private var wait = Duration.zero

    private init(
        _ plan: FanoutPlan,
        addresses: [SocketAddress],
        loop: EventLoop
    ) throws(SystemError) {
        self.loop = loop
        let reactor = try Reactor(loop: loop)
        self.reactor = reactor
        let dialer = Dialer(plan.target, addresses: addresses, timeout: plan.patience)
        run = FanoutRun(plan: plan, dialer: dialer, reactor: reactor)
    }

    /// Runs a benchmark and blocks until it has ended.
    ///
    /// - Parameter plan: What to do.
    /// - Returns: The report.
    /// - Throws: What stood in its way.
    static func report(on plan: FanoutPlan) throws(BenchError) -> FanoutReport {
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(host: plan.target.host, port: plan.target.port)
        } catch {
            throw .resolution(error)
        }
        let resident: FanoutLoop
        do throws(SystemError) {
            let loop = try EventLoop(name: "bench")
            resident = try FanoutLoop(plan, addresses: addresses, loop: loop)
            try loop.start(resident)
        } catch {
            throw .machine("Cannot start the event loop: \(error)")
        }
        resident.loop.join()
        guard let outcome = resident.outcome.withLock({ $0 }) else {
            throw .machine("The event loop ended without a result.")
        }
        return try outcome.get()
    }

    func turn() -> Bool {
        reactor.poll(atMost: wait)
        wait = run.step()
        guard let outcome = run.outcome else {
            reactor.flush()
            return true
        }
        self.outcome.withLock { $0 = outcome }
        reactor.shutDown()
        return false
    }
}
