import Archive
package import Broker
public import BrokerConfiguration
internal import Cluster
import Console
import Gateway
import Glibc
internal import HTTPServer
public import Logging
internal import Metrics
public import Net
import Observability
internal import Shard
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
        /// WebSocket and HTTP without TLS, one for each of `listen.host`.
        public var plainAll: [SocketAddress] = []
        /// WebSocket and HTTP over TLS, one for each of `listen.host`.
        public var tlsAll: [SocketAddress] = []
        /// WebSocket and HTTP on a Unix-domain socket.
        public var unix: SocketAddress?
        /// The metrics, one for each of `metrics.host`.
        public var metricsAll: [SocketAddress] = []
        /// The console on its own listeners, one for each of `console.host`.
        public var consoleAll: [SocketAddress] = []

        /// The first address without TLS; `nil` without one, as for the others.
        public var plain: SocketAddress? { plainAll.first }
        /// The first address with TLS.
        public var tls: SocketAddress? { tlsAll.first }
        /// The first address of the metrics.
        public var metrics: SocketAddress? { metricsAll.first }
        /// The first address of the console.
        public var console: SocketAddress? { consoleAll.first }
    }

    let configuration: Configuration
    /// The settings of the HTTP sites.
    let site: SiteSettings
    let log: Logger
    /// The certificates of the TLS listener; `nil` without one.
    let certificates: Mutex<ServedCertificates?>
    let shards: [Shard]
    let registry: Mutex<AppRegistry>
    let webhookService: WebhookService
    let activityLog: ActivityLog
    /// What the shards know of the cluster; `nil` for a broker alone.
    let cluster: ClusterSettings?
    /// The archive of stored channels; `nil` without a file.
    let archive: Archive?
    /// The console; `nil` without one.
    let console: BrokerConsole?
    /// The traces that backends have begun.
    let traces = EventTraces()
    /// The shutdown settings of the configuration that was loaded last.
    let shutdown: Mutex<Configuration.Shutdown>
    private let gauges: Gauges
    let metricsServer = MetricsServer()
    /// Whether what an earlier run has kept was read: then a stop may replace it.
    let hasRestored = Atomic(false)
    /// Whether ``stop(within:)`` has been called.
    let isStopping = Atomic(false)

    /// Creates a broker that does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - log: The logger.
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
    ///   - configuration: The configuration.
    ///   - log: The logger.
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
        site = SiteSettings(configuration)
        self.log = log
        shutdown = Mutex(configuration.shutdown)
        do {
            certificates = Mutex(try ServedCertificates(configuration))
        } catch {
            throw .certificate(error)
        }
        let metrics = PrometheusRegistry(helpTexts: BrokerMetric.helpTexts)
        let shardCount = configuration.loops > 0 ? configuration.loops : BrokerServer.coreCount
        var loops: [EventLoop] = []
        do {
            for number in 0..<shardCount { loops.append(try EventLoop(name: "loop \(number)")) }
        } catch {
            throw .system(error)
        }
        let mailboxes = loops.map { Mailbox<ShardMessage>(wakes: $0) }
        let limitHits = LimitHits(metrics, log: log)
        let console = BrokerConsole(configuration, limitHits: limitHits, log: log)
        self.console = console
        let registry = AppRegistry(configuration.apps, consoleApp: console?.app)
        self.registry = Mutex(registry)
        var webhookSettings = webhookSettings ?? WebhookSettings(configuration.webhooks)
        webhookSettings.limitMet = { limitHits.record($0, count: $1) }
        webhookSettings.settled = { id, isDelivered in
            // The home of the partition that has queued it.
            mailboxes[id.queue % shardCount].post(.webhookSettled(id, isDelivered: isDelivered))
        }
        let webhookService = WebhookService(
            settings: webhookSettings,
            registry: registry,
            log: log
        )
        self.webhookService = webhookService
        do {
            cluster =
                configuration.cluster.engine == nil
                ? nil
                : try ClusterSettings(
                    configuration.cluster,
                    port: configuration.port ?? configuration.tlsPort,
                    shardCount: shardCount,
                    log: log,
                    webhooks: webhookService
                )
        } catch {
            throw .cluster("\(error)")
        }
        let settings = ServerSettings(
            configuration,
            shardCount: shardCount,
            cluster: cluster,
            log: log
        )
        let connectionCounters = ConnectionCounters(metrics)
        let lossLog = LossLog(log)
        let activityLog = ActivityLog(log, registry: registry)
        self.activityLog = activityLog
        // In a cluster the leader of each partition sends the webhooks, of all nodes.
        let channelObserver: (any BrokerObserver)? =
            observer ?? (cluster == nil ? webhookService : nil)
        var observers: [any BrokerObserver] = [limitHits, connectionCounters, lossLog, activityLog]
        if let channelObserver { observers.insert(channelObserver, at: 0) }
        observers.append(traces)
        if let console { observers += [console.feed, console.refusals] }
        do {
            let archive = Archive.Settings(configuration.recovery)
                .map { archive in
                    var archive = archive
                    archive.readBytesMax = settings.archiveReadBytesMax
                    archive.limitMet = { limitHits.record($0, count: 1) }
                    return Archive(archive, shardCount: shardCount, log: log) { shard, reply in
                        mailboxes[shard].post(.archive(reply))
                    }
                }
            self.archive = archive
            let handovers = loops.map { Mailbox<HTTPHandover>(wakes: $0) }
            var shards: [Shard] = []
            for (number, loop) in loops.enumerated() {
                shards.append(
                    try Shard(
                        loop: loop,
                        settings: settings,
                        registry: registry,
                        links: ShardLinks(of: number, mailboxes: mailboxes),
                        observers: observers,
                        archive: archive,
                        makeSharedHome: cluster.map { cluster in
                            { @Sendable in cluster.makeHome(of: $0, $1, $2) }
                        },
                        handovers: handovers[number]
                    ) { [site, traces, handovers] in
                        var site = site
                        site.handovers = handovers
                        return $0.makeSite(site, console, traces)
                    }
                )
            }
            self.shards = shards
            gauges = Gauges(registry: metrics, archive: archive) { [shards] in
                var sum = ShardReading()
                for shard in shards { sum.add(await shard.reading) }
                return sum
            }
        } catch {
            throw .system(error)
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

    private static var coreCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}

// In a cluster the webhooks come from the queues in Redis.
extension WebhookService: QueuedEventSender {
    package nonisolated func send(_ events: [QueuedEvent]) { webhooks.send(events) }

    package nonisolated func withdraw(queues: Set<Int>) { webhooks.withdraw(queues: queues) }

    package nonisolated var queuedEventCount: Int { webhooks.queuedEventCount }
}
