import CommandSupport
import Net

/// What the benchmarks share: the reactor, the connections to the server, and the server's process.
final class LoadGenerator {
    /// The server.
    let target: TargetServer
    /// The event loop's reactor.
    let reactor: Reactor
    /// Opens the connections.
    let connector: Connector
    /// The server's processes, if known.
    let server: ServerProcess?
    /// Shows the progress.
    var progress = ProgressBar()
    /// The time in which the first connections were opened.
    private(set) var connectingTime = Duration.zero
    private let errors: FirstError
    private let beganAt = MonotonicTime.current
    private var stallDetector: StallDetector

    /// Creates a generator; the stall timeout starts now.
    ///
    /// A local server's process is found by its port.
    init(
        connector: Connector,
        reactor: Reactor,
        isLocal: Bool,
        errors: FirstError = FirstError()
    ) {
        target = connector.target
        self.errors = errors
        self.connector = connector
        self.reactor = reactor
        if let id = target.serverID {
            server = ServerProcess(id: id)
        } else {
            server = isLocal ? ServerProcess(listeningOn: target.url.port) : nil
        }
        stallDetector = StallDetector(target.stallTimeout, since: .current)
    }

    /// Creates a generator on the same loop that connects to another URL of the server.
    convenience init(beside generator: LoadGenerator, to url: ServerURL) throws(BenchError) {
        var target = generator.target
        target.url = url
        self.init(
            connector: try Connector(target, addresses: try url.addresses()),
            reactor: generator.reactor,
            isLocal: false,
            errors: generator.errors
        )
    }

    /// The first error that ends the run.
    var failure: BenchError? { errors.error }

    /// Records an error that ends the run.
    func fail(_ error: BenchError) {
        if errors.error == nil { errors.error = error }
    }

    /// Opens a client's connection; its stream owns the client.
    @discardableResult
    func connect(
        _ index: Int,
        _ delegate: any BenchClientDelegate,
        token: String? = nil
    ) throws(BenchError) -> BenchClient {
        try connector.connect(index, token: token, delegate: delegate, on: reactor)
    }

    /// Shows the progress of connecting; returns whether all connections are ready.
    ///
    /// - Throws: When no connection was acknowledged within the stall timeout.
    func showConnecting(
        _ ramp: ConnectionRamp,
        at now: MonotonicTime
    ) throws(BenchError) -> Bool {
        let (count, all) = (ramp.connectedCount, ramp.count)
        progress.show("Connecting", count, of: all, at: now)
        if ramp.isComplete {
            progress.end()
            if connectingTime == .zero { connectingTime = beganAt.duration(to: now) }
        } else if isStalled(count, at: now) {
            throw .connectingStalled(connected: count, of: all, timeout: target.stallTimeout)
        }
        return ramp.isComplete
    }

    /// Whether `progress` has not changed for the stall timeout.
    func isStalled(_ progress: Int, at now: MonotonicTime) -> Bool {
        stallDetector.isStalled(progress: progress, at: now)
    }

    /// Restarts the stall timeout: nothing is awaited.
    func resetStallTimer(at now: MonotonicTime) { stallDetector.reset(at: now) }

    /// The CPU time and traffic so far.
    func resourceUsage() -> ResourceUsage {
        ResourceUsage(
            serverTime: server?.cpuTime(),
            generatorTime: ServerProcess.ownCPUTime(),
            readCount: connector.traffic.readCount,
            byteCount: connector.traffic.byteCount
        )
    }
}

/// The first error of all parts of a run.
final class FirstError {
    /// The error.
    fileprivate(set) var error: BenchError?
}

/// Detects that there has been no progress for a time.
struct StallDetector {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

    /// Creates a detector with the time after which a run is stalled.
    init(_ limit: Duration, since now: MonotonicTime) {
        self.limit = limit
        since = now
    }

    /// Whether `progress` has not changed for the limit.
    mutating func isStalled(progress: Int, at now: MonotonicTime) -> Bool {
        guard progress == self.progress else {
            self.progress = progress
            since = now
            return false
        }
        return since.duration(to: now) >= limit
    }

    /// Restarts the time: nothing is awaited.
    mutating func reset(at now: MonotonicTime) { since = now }
}
