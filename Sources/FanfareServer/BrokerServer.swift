import Broker
import Glibc
public import Logging
internal import Metrics
public import Net
import Synchronization
import Webhooks

/// A broker in this process: its loops, its shards, its listeners and its webhooks.
///
///     let server = try BrokerServer(configuration: .development)
///     let addresses = try await server.start()
///     …
///     await server.stop()
public final class BrokerServer: Sendable {
    /// Where a broker listens.
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

    /// What a reload has done.
    public struct Reload: Sendable, Equatable {
        /// The apps that are new, otherwise than before, or gone.
        public var apps: AppChanges
        /// The keys of the configuration that count from the next start on.
        public var restartKeys: [String]
        /// Whether new connections get other certificates from here on.
        public var hasNewCertificates = false
    }

    private let configuration: Configuration
    private let log: Logger
    /// What the TLS listener presents; `nil` without one.
    private let certificates: Mutex<ServedCertificates?>
    let shards: [Shard]
    private let registry: Mutex<AppRegistry>
    let webhookService: WebhookService
    /// How to stop, by the configuration that was taken over last.
    let shutdown: Mutex<Configuration.Shutdown>
    private let gauges: Gauges
    let metricsDoor = MetricsServer()
    /// Whether ``stop(within:)`` has been called.
    let isStopping = Atomic(false)

    /// Makes a broker that listens nowhere yet.
    ///
    /// - Parameters:
    ///   - configuration: What it serves, and to whom.
    ///   - log: Where it reports.
    /// - Throws: ``StartError`` when the kernel or OpenSSL refuses what every broker needs, or a certificate is bad.
    public convenience init(
        configuration: Configuration,
        log: Logger = Logger(label: "fanfare")
    ) throws(StartError) {
        try self.init(configuration: configuration, log: log, observer: nil)
    }

    /// Makes a broker with settings beyond the configuration.
    ///
    /// - Parameters:
    ///   - configuration: What it serves, and to whom.
    ///   - log: Where it reports.
    ///   - observer: What observes the broker in the place of webhooks; `nil` for the webhooks.
    ///   - webhookSettings: The limits and delays of webhooks; `nil` for the default ones.
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
        webhookSettings.limitMet = { limitHits.record($0, count: $1) }
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

    /// Starts the loops and listens; a broker that cannot start is stopped when this returns.
    ///
    /// - Returns: The addresses, with the ports that the kernel chose where 0 was asked for.
    /// - Throws: ``StartError`` that names the address that could not be listened on.
    public func start() async throws(StartError) -> Addresses {
        do throws(StartError) {
            do throws(SystemError) {
                for shard in shards { try shard.loop.start(shard) }
            } catch {
                throw .system(error)
            }
            // Before anybody can come of whom there is something to tell.
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
            addresses.metrics = try await showMetrics(host: configuration.metrics.host, port: port)
        }
        return addresses
    }

    private func showMetrics(host: String, port: UInt16) async throws(StartError) -> SocketAddress {
        guard let address = SocketAddress(ip: host, port: port) else {
            throw .noAddress(host: host)
        }
        do throws(SystemError) {
            return try metricsDoor.open(on: address) { await self.metrics }
        } catch {
            throw .listen(address, error)
        }
    }

    /// What the broker has counted and what it has now, in the text format of Prometheus.
    public var metrics: String {
        get async {
            await gauges.text(
                apps: registry.withLock { $0 },
                webhooks: webhookService.counters
            )
        }
    }

    /// Takes over the apps and the certificates of another configuration while the broker runs.
    ///
    /// Clients stay connected, but those of an app that is gone (4001) or switched off (4003). Connections of an app
    /// that is configured otherwise go on by its new credentials, features and limits; a lower limit closes nobody.
    /// The files of certificates are read again, and new connections get what is in them now. What cannot be taken over,
    /// as the address of a listener, is logged and counts from the next start on.
    ///
    /// - Parameters:
    ///   - configuration: All of the configuration, not only what is to change.
    ///   - accepted: Called once, when no fault is left to be found, before anything is logged: for what the caller
    ///     takes over itself, as the level of the log.
    /// - Returns: What was taken over, and what was not.
    /// - Throws: Every fault of the configuration; then nothing has changed.
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
        // Before clients of a new app can come.
        await webhookService.adopt(registry)
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

    /// Reads the certificates again, if there is a TLS listener; whether they are others than before.
    private func renewCertificates(
        _ configuration: Configuration
    ) throws(ConfigurationError) -> Bool {
        guard let old = certificates.withLock({ $0 }) else { return false }
        do throws(TLSError) {
            guard let new = try ServedCertificates(configuration), new != old else { return false }
            certificates.withLock { $0 = new }
            return true
        } catch {
            // They were fine when the configuration was judged, a moment ago.
            let fault = ConfigurationFault(
                key: "tls.certificates",
                problem: "cannot be used: \(error)"
            )
            throw ConfigurationError([fault])
        }
    }

    private func report(_ reload: Reload) {
        log.notice(
            "the configuration is taken over",
            metadata: [
                "added": "\(reload.apps.added.count)", "changed": "\(reload.apps.changed.count)",
                "removed": "\(reload.apps.removed.count)",
                "certificates": "\(reload.hasNewCertificates ? "renewed" : "as before")",
            ]
        )
        guard !reload.restartKeys.isEmpty else { return }
        log.warning(
            "some of the configuration counts from the next start on",
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

    /// The number of streams, whatever they carry.
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
            // Listeners that share a port share it with every broker of this user: clients would be split between the
            // two, and events with them. A listener that does not share finds out.
            if let first = shards.first, shards.count > 1, address.port != 0 {
                try await first.checkIsFree(address)
            }
            for shard in shards {
                // The first listener learns the port, the others share it.
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
