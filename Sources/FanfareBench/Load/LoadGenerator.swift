import CommandSupport
import Net

/// What every benchmark works with: a loop, connections to the server, a look at its process.
final class LoadGenerator {
    /// The server.
    let target: TargetServer
    /// Whose thread all calls come on.
    let reactor: Reactor
    /// Makes the connections.
    let connector: Connector
    /// The server's processes, if they are known.
    let server: ServerProcess?
    /// Shows how far the run has come.
    var progress = ProgressBar()
    private var stallDetector: StallDetector

    /// The means of a run that begins now.
    ///
    /// - Parameters:
    ///   - connector: Has reached the server.
    ///   - reactor: Whose thread all calls come on.
    ///   - isLocal: Whether the server is on this machine, so that its process can be looked for.
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

    /// Whether `progress` has been the same for longer than the target's stallDetector.
    func isStalled(_ progress: Int, at now: MonotonicTime) -> Bool {
        stallDetector.isStalled(progress: progress, at: now)
    }

    /// Begins to be patient anew: there is nothing to wait for.
    func resetStallTimer(at now: MonotonicTime) { stallDetector.reset(at: now) }

    /// What the usage say at this moment.
    func resourceUsage() -> ResourceUsage {
        ResourceUsage(
            serverTime: server?.cpuTime(),
            generatorTime: ServerProcess.ownCPUTime(),
            readCount: connector.traffic.readCount,
            byteCount: connector.traffic.byteCount
        )
    }
}

/// Notices that nothing has moved for too long.
struct StallDetector {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

    /// StallDetector that begins now.
    ///
    /// - Parameters:
    ///   - limit: How long nothing may move.
    ///   - now: The time.
    init(_ limit: Duration, since now: MonotonicTime) {
        self.limit = limit
        since = now
    }

    /// Whether `progress` has been the same for too long.
    mutating func isStalled(progress: Int, at now: MonotonicTime) -> Bool {
        guard progress == self.progress else {
            self.progress = progress
            since = now
            return false
        }
        return since.duration(to: now) >= limit
    }

    /// Begins again: there is nothing to wait for.
    mutating func reset(at now: MonotonicTime) { since = now }
}
