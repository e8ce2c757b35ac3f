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
    private var stallDetector: StallDetector

    /// Creates a generator; the stall timeout starts now.
    ///
    /// - Parameters:
    ///   - connector: A connector that has reached the server.
    ///   - reactor: The event loop's reactor.
    ///   - isLocal: Whether the server is on this machine, so that its process can be found.
    init(connector: Connector, reactor: Reactor, isLocal: Bool) {
        target = connector.target
        self.connector = connector
        self.reactor = reactor
        if let id = target.serverID {
            server = ServerProcess(id: id)
        } else {
            server = isLocal ? ServerProcess(listeningOn: target.url.port) : nil
        }
        stallDetector = StallDetector(target.stallTimeout, since: .current)
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

/// Detects that there has been no progress for a time.
struct StallDetector {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

    /// Creates a detector.
    ///
    /// - Parameters:
    ///   - limit: The time after which a run is stalled.
    ///   - now: The time.
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
