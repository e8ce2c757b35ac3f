import CommandSupport
import Net

/// What every benchmark works with: a loop, connections to the server, a look at its process.
final class Generator {
    /// The server.
    let subject: BenchSubject
    /// Whose thread all calls come on.
    let reactor: Reactor
    /// Makes the connections.
    let dialer: Dialer
    /// The server's processes, if they are known.
    let server: ServerProcess?
    /// Shows how far the run has come.
    var progress = ProgressBar()
    private var patience: Patience

    /// The means of a run that begins now.
    ///
    /// - Parameters:
    ///   - dialer: Has reached the server.
    ///   - reactor: Whose thread all calls come on.
    ///   - isLocal: Whether the server is on this machine, so that its process can be looked for.
    init(dialer: Dialer, reactor: Reactor, isLocal: Bool) {
        subject = dialer.subject
        self.dialer = dialer
        self.reactor = reactor
        if let id = subject.serverID {
            server = ServerProcess(id: id)
        } else {
            server = isLocal ? ServerProcess(listeningOn: subject.target.port) : nil
        }
        patience = Patience(subject.patience, since: .current)
    }

    /// Whether `progress` has been the same for longer than the subject's patience.
    func isStalled(_ progress: Int, at now: MonotonicTime) -> Bool {
        patience.isExhausted(progress: progress, at: now)
    }

    /// Begins to be patient anew: there is nothing to wait for.
    func renewPatience(at now: MonotonicTime) { patience.renew(at: now) }

    /// What the meters say at this moment.
    func meters() -> Meters {
        Meters(
            serverTime: server?.cpuTime(),
            generatorTime: ServerProcess.ownCPUTime(),
            readCount: dialer.traffic.readCount,
            byteCount: dialer.traffic.byteCount
        )
    }
}

/// Notices that nothing has moved for too long.
struct Patience {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

    /// Patience that begins now.
    ///
    /// - Parameters:
    ///   - limit: How long nothing may move.
    ///   - now: The time.
    init(_ limit: Duration, since now: MonotonicTime) {
        self.limit = limit
        since = now
    }

    /// Whether `progress` has been the same for too long.
    mutating func isExhausted(progress: Int, at now: MonotonicTime) -> Bool {
        guard progress == self.progress else {
            self.progress = progress
            since = now
            return false
        }
        return since.duration(to: now) >= limit
    }

    /// Begins again: there is nothing to wait for.
    mutating func renew(at now: MonotonicTime) { since = now }
}
