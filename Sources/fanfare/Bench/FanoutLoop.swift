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
    ) throws(BenchError) {
        self.loop = loop
        do throws(SystemError) {
            reactor = try Reactor(loop: loop)
        } catch {
            throw .machine("The event loop cannot be made: \(error)")
        }
        let dialer: Dialer
        do throws(TLSError) {
            dialer = try Dialer(plan, addresses: addresses)
        } catch {
            throw .machine("TLS cannot be used: \(error)")
        }
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
        let loop = try started { () throws(SystemError) in try EventLoop(name: "bench") }
        let resident = try FanoutLoop(plan, addresses: addresses, loop: loop)
        try started { () throws(SystemError) in try loop.start(resident) }
        loop.join()
        guard let outcome = resident.outcome.withLock({ $0 }) else {
            throw .machine("The event loop ended without a result.")
        }
        return try outcome.get()
    }

    private static func started<T>(_ body: () throws(SystemError) -> T) throws(BenchError) -> T {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .machine("The event loop cannot be started: \(error)")
        }
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
