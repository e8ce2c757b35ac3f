import Broker
import Glibc
public import Logging
internal import Metrics
public import Net
import Synchronization
import Webhooks

/// A broker in this process: event loops, shards, listeners and webhooks.
///
///     let server = try BrokerServer(configuration: .development)
///     let addresses = try await server.start()
///     …
///     await server.stop()
public final class BrokerServer: Sendable {
    /// The addresses on which a broker listens.
    public struct Addresses: Sendable {
        /// WebSocket and HTTP without TLS.
        public var plain: SocketAddress?
        /// WebSocket and HTTP over TLS.
        public var tls: SocketAddress?
        /// WebSocket and HTTP on a Unix-domain socket.
        public var unix: SocketAddress?
        /// The metrics.
        public var metrics: SocketAddress?
    }

    /// The result of a reload.
    public struct Reload: Sendable, Equatable {
        /// The added, changed and removed apps.
        public var apps: AppChanges
        /// The changed keys that take effect at the next start.
        public var restartKeys: [String]
        /// Whether new connections get different certificates.
        public var hasNewCertificates = false
    }

    private let configuration: Configuration
    private let log: Logger
    /// The certificates of the TLS listener; `nil` without one.
    private let certificates: Mutex<ServedCertificates?>
    let shards: [Shard]
    private let registry: Mutex<AppRegistry>
    let webhookService: WebhookService
    /// The shutdown settings of the configuration that was loaded last.
    let shutdown: Mutex<Configuration.Shutdown>
    private let gauges: Gauges
    let metricsServer = MetricsServer()
    /// Whether ``stop(within:)`` has been called.
    let isStopping = Atomic(false)

    /// Creates a broker that does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: What it serves, and to whom.
    ///   - log: Where it reports.
    /// - Throws: ``StartError`` when the kernel or OpenSSL fails, or a certificate cannot be used.
    public convenience init(
        configuration: Configuration,
        log: Logger = Logger(label: "fanfare")
    ) throws(StartError) {
        try self.init(configuration: configuration, log: log, observer: nil)
    }

    /// Creates a broker with settings beyond the configuration.
    ///
    /// - Parameters:
    ///   - configuration: What it serves, and to whom.
    ///   - log: Where it reports.
    ///   - observer: Observes the broker instead of webhooks; `nil` for webhooks.
    ///   - webhookSettings: The limits and delays of webhooks; `nil` for those of the configuration.
    /// - Throws: ``StartError``, as above.
    init(
        configuration: Configuration,
        log: Logger,
        observer: (any BrokerObserver)?,
        webhookSettings: WebhookSettings? = nil
    ) throws(StartError) {
        self.configuration = configuration
        self.log = log
        shutdown = Mutex(configuration.shutdown)
        do {
            certificates = Mutex(try ServedCertificates(configuration))
        } catch {
            throw .certificate(error)
        }
        let metrics = PrometheusRegistry()
        let shardCount = configuration.loops > 0 ? configuration.loops : BrokerServer.coreCount
        let settings = ServerSettings(
            configuration,
            shardCount: shardCount
        )
        let limitHits = LimitHits(metrics, log: log)
        let registry = AppRegistry(configuration.apps)
        self.registry = Mutex(registry)
        var webhookSettings = webhookSettings ?? WebhookSettings(configuration.webhooks)
        webhookSettings.met = { limitHits.record($0, count: $1) }
        let webhookService = WebhookService(
            settings: webhookSettings,
            registry: registry,
            log: log
        )
        self.webhookService = webhookService
        do {
            var loops: [EventLoop] = []
            for number in 0..<shardCount { loops.append(try EventLoop(name: "loop \(number)")) }
            let mailboxes = loops.map { Mailbox<ShardMessage>(wakes: $0) }
            var shards: [Shard] = []
            for (number, loop) in loops.enumerated() {
                shards.append(
                    try Shard(
                        loop: loop,
                        settings: settings,
                        registry: registry,
                        links: ShardLinks(of: number, mailboxes: mailboxes),
                        observers: [observer ?? webhookService, limitHits]
                    )
                )
            }
            self.shards = shards
            gauges = Gauges(registry: metrics, shards: shards)
        } catch {
            throw .system(error)
        }
    }

    /// Starts the loops and listens. A broker that cannot start is stopped when this returns.
    ///
    /// - Returns: The addresses, with the ports that the kernel chose for port 0.
    /// - Throws: ``StartError``, with the address that could not be listened on.
    public func start() async throws(StartError) -> Addresses {
        do throws(StartError) {
            do throws(SystemError) {
                for shard in shards { try shard.loop.start(shard) }
            } catch {
                throw .system(error)
            }
            // Before clients can connect and cause webhooks.
            do { try await webhookService.start() } catch { throw .webhooks(error) }
            return try await listen()
        } catch {
            await stop(within: .zero)
            throw error
        }
    }

    private func listen() async throws(StartError) -> Addresses {
        var addresses = Addresses()
        if let port = configuration.port {
            addresses.plain = try await listen(host: configuration.host, port: port, tls: nil)
        }
        if let port = configuration.tlsPort, let tls = certificates.withLock({ $0?.context }) {
            addresses.tls = try await listen(host: configuration.host, port: port, tls: tls)
        }
        if let path = configuration.unixSocket {
            // A path has one listener: SO_REUSEPORT does not spread Unix-domain connections.
            addresses.unix = try await listen(
                on: .unix(path: path),
                tls: nil,
                shards: shards.prefix(1)
            )
        }
        if let port = configuration.metrics.port {
            addresses.metrics = try await listenForMetrics(host: configuration.metrics.host, port: port)
        }
        return addresses
    }

    private func listenForMetrics(host: String, port: UInt16) async throws(StartError) -> SocketAddress {
        guard let address = SocketAddress(ip: host, port: port) else {
            throw .noAddress(host: host)
        }
        do throws(SystemError) {
            return try metricsServer.open(on: address) { await self.metrics }
        } catch {
            throw .listen(address, error)
        }
    }

    /// The metrics, in the text format of Prometheus.
    public var metrics: String {
        get async {
            await gauges.text(
                apps: registry.withLock { $0 },
                webhooks: webhookService.counters
            )
        }
    }

    /// Replaces the apps and the certificates while the broker runs.
    ///
    /// Clients stay connected, except those of removed apps (4001) and disabled apps (4003). The new credentials,
    /// features and limits of a changed app apply to its connections; a lower connection limit closes none. The
    /// certificate files are read again; new connections get the new certificates. Other changes, such as the address
    /// of a listener, are logged and take effect at the next start.
    ///
    /// - Parameters:
    ///   - configuration: The complete configuration.
    ///   - accepted: Called once after validation, before anything is logged: the caller applies the settings that are
    ///     its own, such as the log level.
    ///     takes over itself, as the level of the log.
    /// - Returns: What has changed, and what takes effect at the next start.
    /// - Throws: All faults of the configuration; then nothing has changed.
    @discardableResult
    public func reload(
        _ configuration: Configuration,
        accepted: () -> Void = {}
    ) async throws(ConfigurationError) -> Reload {
        try configuration.validate()
        let hasNewCertificates = try renewCertificates(configuration)
        accepted()
        shutdown.withLock { $0 = configuration.shutdown }
        let (registry, changes) = registry.withLock { registry in
            let old = registry
            registry = old.succeeded(by: configuration.apps)
            return (registry, registry.changes(since: old))
        }
        let reload = Reload(
            apps: changes,
            restartKeys: configuration.restartKeys(comparedWith: self.configuration),
            hasNewCertificates: hasNewCertificates
        )
        if hasNewCertificates, let context = certificates.withLock({ $0?.context }) {
            for shard in shards { await shard.present(context) }
        }
        // Before clients of a new app can connect.
        await webhookService.replaceApps(registry)
        for shard in shards { await shard.replaceApps(registry) }
        var areLeft = true
        while areLeft {
            areLeft = false
            for shard in shards where await shard.closeOrphanedConnections(upTo: 500) {
                areLeft = true
            }
            if areLeft { try? await Task.sleep(for: .milliseconds(20)) }
        }
        report(reload)
        return reload
    }

    /// Reads the certificates again, if there is a TLS listener; returns whether they differ.
    private func renewCertificates(
        _ configuration: Configuration
    ) throws(ConfigurationError) -> Bool {
        guard let old = certificates.withLock({ $0 }) else { return false }
        do throws(TLSError) {
            guard let new = try ServedCertificates(configuration), new != old else { return false }
            certificates.withLock { $0 = new }
            return true
        } catch {
            // They have changed since the configuration was validated, a moment ago.
            let fault = ConfigurationFault(
                key: "tls.certificates",
                problem: "cannot be used: \(error)"
            )
            throw ConfigurationError([fault])
        }
    }

    private func report(_ reload: Reload) {
        log.notice(
            "configuration reloaded",
            metadata: [
                "added": "\(reload.apps.added.count)", "changed": "\(reload.apps.changed.count)",
                "removed": "\(reload.apps.removed.count)",
                "certificates": "\(reload.hasNewCertificates ? "renewed" : "unchanged")",
            ]
        )
        guard !reload.restartKeys.isEmpty else { return }
        log.warning(
            "some changes take effect at the next start",
            metadata: ["keys": "\(reload.restartKeys.joined(separator: ", "))"]
        )
    }

    /// Returns when the loops have ended, after ``stop(within:)``.
    public func waitUntilStopped() async {
        for shard in shards { await shard.loop.waitUntilStopped() }
    }

    /// The number of clients connected to this broker.
    public var connectionCount: Int {
        get async {
            var count = 0
            for shard in shards { count += await shard.connectionCount }
            return count
        }
    }

    /// The number of streams of any kind.
    var streamCount: Int {
        get async {
            var count = 0
            for shard in shards { count += await shard.streamCount }
            return count
        }
    }

    // MARK: - Listening

    private func listen(
        host: String,
        port: UInt16,
        tls: TLSContext?
    ) async throws(StartError) -> SocketAddress {
        let candidates: [SocketAddress]
        do {
            candidates = try SocketAddress.resolve(host: host, port: port)
        } catch {
            throw .resolve(error)
        }
        guard let address = candidates.first else { throw .noAddress(host: host) }
        return try await listen(on: address, tls: tls, shards: shards[...])
    }

    private func listen(
        on address: SocketAddress,
        tls: TLSContext?,
        shards: ArraySlice<Shard>
    ) async throws(StartError) -> SocketAddress {
        var address = address
        do throws(SystemError) {
            // With SO_REUSEPORT another broker of this user could share the port: clients and events would be split
            // between the two. A listener without it finds out.
            if let first = shards.first, shards.count > 1, address.port != 0 {
                try await first.checkIsFree(address)
            }
            for shard in shards {
                // The kernel chooses the port of the first listener; the others share it.
                address = try await shard.listen(
                    on: address,
                    sharing: shards.count > 1,
                    tls: tls
                )
            }
        } catch {
            throw .listen(address, error)
        }
        log.debug("listening", metadata: ["address": "\(address)", "tls": "\(tls != nil)"])
        return address
    }

    private static var coreCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
