import CommandSupport
import Glibc
import HTTPClient
import Net
import PusherProtocol
import WebSocket

/// What the benchmarks share: the event loop, the connections to the server, and the server's process.
final class LoadGenerator {
    let target: TargetServer
    let reactor: Reactor
    private(set) var server: ServerProcess?
    var progress = ProgressBar()
    /// What all clients have read: the number of reads, and of bytes after decryption.
    var traffic = (readCount: 0, byteCount: 0)
    /// The time in which the first connections were opened.
    private(set) var connectingTime = Duration.zero
    var address: SocketAddress

    /// The TLS settings and the expected name in the certificate; nil without TLS.
    private let tls: (context: TLSContext, serverName: String)?
    private let connectionURL: ConnectionURL
    private let deflate: DeflateOptions?
    private var connectionCount = 0
    /// A system call for each masking key and nonce would be a part of what is measured.
    private var random = RandomPool()
    private let shared: Shared
    private var beganAt = MonotonicTime.current
    private var stallDetector: StallDetector

    /// The state of all generators on one loop.
    private final class Shared {
        var failure: BenchError?
        var onTurn: ((MonotonicTime) throws(BenchError) -> MonotonicTime?)?
    }

    /// Connects to the first address at which the server answers; then the stall timeout starts.
    ///
    /// A local server's process is found by its port.
    convenience init(
        _ target: TargetServer,
        at addresses: [SocketAddress],
        on reactor: Reactor
    ) throws(BenchError) {
        guard let first = addresses.first else { throw .machine("no address to try") }
        try self.init(target, first, reactor, Shared())
        let isLocal = try findServer(at: addresses)
        if let id = target.serverID {
            server = ServerProcess(id: id)
        } else if isLocal {
            server = ServerProcess(listeningOn: target.url.port)
        }
        beganAt = .current
        stallDetector.reset(at: beganAt)
    }

    /// Creates a generator on the same loop that connects to another URL of the server.
    convenience init(beside generator: LoadGenerator, to url: ServerURL) throws(BenchError) {
        var target = generator.target
        target.url = url
        guard let address = try url.addresses().first else { throw .machine("no address to try") }
        try self.init(target, address, generator.reactor, generator.shared)
    }

    private init(
        _ target: TargetServer,
        _ address: SocketAddress,
        _ reactor: Reactor,
        _ shared: Shared
    ) throws(BenchError) {
        self.target = target
        self.address = address
        self.reactor = reactor
        self.shared = shared
        stallDetector = StallDetector(target.stallTimeout, since: .current)
        do throws(TLSError) {
            tls = target.url.isSecure ? (try .client(trust: target.trust), target.url.host) : nil
        } catch {
            throw .machine("TLS cannot be set up: \(error)")
        }
        connectionURL = ConnectionURL(
            key: target.key,
            client: "fanfare-bench",
            clientVersion: "1.0"
        )
        // Without context takeover a server can compress a message once for all subscribers.
        deflate =
            target.offersDeflate
            ? DeflateOptions(serverNoContextTakeover: true, clientNoContextTakeover: true) : nil
    }

    // MARK: Waiting

    /// Sets what is done in each turn, before the step: it returns when it is due again, or nil for the next turn.
    func onTurn(_ body: @escaping (MonotonicTime) throws(BenchError) -> MonotonicTime?) {
        shared.onTurn = body
    }

    /// Runs the event loop, and a step once per turn, until the step is done; throws the error of any connection.
    func run(_ step: (MonotonicTime) throws(BenchError) -> BenchStep) throws(BenchError) {
        while true {
            if let failure = shared.failure { throw failure }
            let now = MonotonicTime.current
            let due = try shared.onTurn?(now) ?? nil
            switch try step(now) {
            case .done: return
            case .stalled: throw .stalled
            case .wait(var time):
                if let due, case .wait(let rest) = BenchStep.wait(until: due) {
                    time = min(time, rest)
                }
                reactor.flush()
                reactor.poll(atMost: time)
            }
        }
    }

    /// Waits for a time, in which no progress is expected.
    func wait(
        for time: Duration,
        _ show: (MonotonicTime) -> Void = { _ in }
    ) throws(BenchError) {
        let end = MonotonicTime.current.advanced(by: time)
        try run { now in
            show(now)
            return now >= end ? .done : .wait(from: now, until: end)
        }
        resetStallTimer()
    }

    /// How long to wait for duplicates after the last delivery.
    static let duplicateWait = Duration.milliseconds(200)

    /// Runs what a benchmark measures, then waits for duplicates of its last deliveries.
    ///
    /// A phase without progress ends the measurement.
    func measure(_ phases: () throws(BenchError) -> Void) throws(BenchError) -> Measurement {
        let (start, before) = (MonotonicTime.current, resourceUsage())
        resetStallTimer(at: start)
        var stalled: Duration?
        do throws(BenchError) {
            try phases()
        } catch {
            guard case .stalled = error else { throw error }
            stalled = target.stallTimeout
        }
        let usage = resourceUsage() - before
        if stalled == nil { try wait(for: Self.duplicateWait) }
        return Measurement(start: start, usage: usage, stalled: stalled)
    }

    /// Hides the progress, and releases what the turns have used.
    func end() {
        progress.end()
        shared.onTurn = nil
    }

    func fail(_ error: BenchError) {
        if shared.failure == nil { shared.failure = error }
    }

    var hasFailed: Bool { shared.failure != nil }

    /// Whether `progress` has not changed for the stall timeout.
    func isStalled(_ progress: Int, at now: MonotonicTime) -> Bool {
        stallDetector.isStalled(progress: progress, at: now)
    }

    func resetStallTimer(at now: MonotonicTime = .current) { stallDetector.reset(at: now) }

    // MARK: Connections

    /// Opens the connections of all clients; fails if none is acknowledged within the stall timeout.
    func connect(_ clients: some RampedClients) throws(BenchError) {
        resetStallTimer()
        try run { now throws(BenchError) in
            while let index = clients.ramp.next() {
                try connect(index, clients, token: clients.tokens?[index])
            }
            try showConnecting(clients.ramp.connectedCount, of: clients.ramp.count, at: now)
            return .until(clients.ramp.isComplete)
        }
        if connectingTime == .zero { connectingTime = beganAt.duration(to: .current) }
    }

    /// Shows the progress of connecting; fails if there was none within the stall timeout.
    func showConnecting(_ count: Int, of all: Int, at now: MonotonicTime) throws(BenchError) {
        progress.show("Connecting", count, of: all, at: now)
        if count == all {
            progress.end()
        } else if isStalled(count, at: now) {
            throw .connectingStalled(connected: count, of: all, timeout: target.stallTimeout)
        }
    }

    /// Opens a client's connection; its stream owns the client.
    ///
    /// A session token goes into the path, as stock clients have it.
    @discardableResult
    func connect(
        _ index: Int,
        _ delegate: any BenchClientDelegate,
        token: String? = nil
    ) throws(BenchError) -> BenchClient {
        let prefix = target.url.pathPrefix + (token.map { "/r/\($0)" } ?? "")
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            handshake = try ClientHandshake(
                host: target.url.hostField,
                target: connectionURL.target(pathPrefix: prefix),
                nonce: (0..<16).map { _ in .random(in: .min ... .max, using: &random) },
                deflate: deflate
            )
        } catch {
            throw .machine("\(error)")
        }
        let client = BenchClient(index, delegate, handshake, self)
        _ = try open(to: address, client)
        return client
    }

    /// A masking key (RFC 6455 §5.3).
    func maskingKey() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    /// Opens the connections to the HTTP API; fails if they are not open within the stall timeout.
    func open(_ publishers: [EventPublisher]) throws(BenchError) {
        resetStallTimer()
        for publisher in publishers { publisher.connect() }
        try run { now throws(BenchError) in
            if publishers.allSatisfy(\.canSend) { return .done }
            if isStalled(0, at: now) { throw .publisherLost(reason: "no connection in time") }
            return .idle
        }
    }

    func open(
        to address: SocketAddress,
        _ delegate: any StreamDelegate
    ) throws(BenchError) -> Stream {
        let sources = Self.sources(for: address)
        connectionCount += 1
        do throws(SystemError) {
            return try reactor.connect(
                to: address,
                from: sources[connectionCount % sources.count],
                tls: tls,
                timeout: target.stallTimeout,
                delegate: delegate
            )
        } catch {
            throw error.code == EADDRNOTAVAIL
                ? .noLocalPort : .machine("Cannot open a connection: \(error)")
        }
    }

    /// The addresses of this machine to connect from, in turn; nil lets the kernel choose.
    ///
    /// Between two addresses the kernel searches the ports in use for a free one: beside 19,000 connections that took more
    /// processor time than all else that a client does. Clients on machines of their own have no such neighbors.
    static func sources(for address: SocketAddress) -> [SocketAddress?] {
        address.ip?.hasPrefix("127.") == true ? loopbackSources : [nil]
    }

    private static let loopbackSources = (1...16).map {
        SocketAddress(ip: "127.0.0.\($0)", port: 0)
    }

    /// Finds the first address at which the server answers; returns whether the server is on this machine.
    private func findServer(at addresses: [SocketAddress]) throws(BenchError) -> Bool {
        // The reactor's clock, which timeouts are based on, is read in each turn.
        reactor.poll(atMost: .zero)
        var reason = ""
        for address in addresses {
            let probe = ServerProbe()
            _ = try open(to: address, probe)
            while !probe.isClosed {
                reactor.flush()
                reactor.poll(atMost: BenchStep.tick)
            }
            self.address = address
            if let isLocal = probe.isLocal { return isLocal }
            let hint =
                if case .tls = probe.error {
                    "--trust FILE trusts its certificate, --insecure accepts any."
                } else {
                    "Is the server running there?"
                }
            reason = "\(probe.error.map { "\($0)" } ?? "the server closed it"). \(hint)"
        }
        throw .unreachable(url: target.url.webSocketURL, reason: reason)
    }

    // MARK: Measuring

    func resourceUsage() -> ResourceUsage {
        ResourceUsage(
            serverTime: server?.cpuTime(),
            generatorTime: ServerProcess.ownCPUTime(),
            readCount: traffic.readCount,
            byteCount: traffic.byteCount
        )
    }
}

/// When a measurement began, what it used, and the stall timeout if that ended it.
struct Measurement {
    var start: MonotonicTime
    var usage: ResourceUsage
    var stalled: Duration?
}

/// A connection that is closed as soon as it is established.
private final class ServerProbe: StreamDelegate {
    private(set) var isLocal: Bool?
    private(set) var isClosed = false
    private(set) var error: StreamError?

    func streamOpened(_ stream: Stream) {
        let remote = stream.remoteAddress()
        isLocal = remote?.isLoopback == true || remote?.ip == stream.localAddress()?.ip
        stream.abort()
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        isClosed = true
        self.error = error
    }
}

/// Detects that there has been no progress for a time.
struct StallDetector {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

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

    mutating func reset(at now: MonotonicTime) { since = now }
}
