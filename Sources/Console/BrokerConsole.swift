package import Archive
package import Broker
package import BrokerConfiguration
import Digests
import Dispatch
package import Gateway
import Glibc
package import Logging
package import Net
package import Observability
import PusherProtocol
package import Shard
import Synchronization
import Webhooks

/// The console: a page that shows what the broker does, and the app that the page is a client of.
///
/// The app exists only in this process, under an ID, a key and a secret that are drawn at each start. The page subscribes to
/// its one channel, over which the broker sends samples of the load and, while anybody is subscribed, what happens.
package final class BrokerConsole: Sendable {
    /// The channel of the page.
    static let channel = "private-console"
    /// The time between two batches of events, and the number of these after which the load is sampled.
    private static let interval = (batch: Duration.milliseconds(250), sample: 4)

    /// The app of the page.
    package let app: App
    /// What the page shows as it happens.
    package let feed: ConsoleFeed
    /// The load of the last hour.
    let samples: ConsoleSamples
    /// Who has signed in; `nil` for the console of a broker for development, which has no password.
    let sessions: ConsoleSessions?
    let log: Logger
    let limitHits: LimitHits
    /// The refusals since the start.
    package let refusals = ConsoleRefusals()
    /// Where requests wait for the webhooks' file, and how many do.
    let fileQueue = DispatchQueue(label: "fanfare.console")
    let fileRequests = Atomic(0)
    private let configurationInForce: Mutex<Configuration>
    private let address: ChannelAddress
    private let place = Mutex<Place?>(nil)
    private let sampling = Mutex<Task<Void, Never>?>(nil)
    private let feeding = Mutex<Task<Void, Never>?>(nil)
    private let isFeeding = Atomic(false)
    /// Whether a reload has given a broker for development other apps: then no page without a password may see them.
    private let isRevoked = Atomic(false)

    /// What the console shows of a broker that runs.
    package struct Place: Sendable {
        let shards: [Shard]
        /// The addresses of the console's own listeners.
        let pages: [SocketAddress]
        /// The addresses without TLS.
        let plain: [SocketAddress]
        /// The first address with TLS.
        let tls: SocketAddress?
        let webhooks: WebhookService
        /// The archive of stored channels; `nil` without one.
        let archive: Archive?

        package init(
            shards: [Shard],
            pages: [SocketAddress],
            plain: [SocketAddress],
            tls: SocketAddress?,
            webhooks: WebhookService,
            archive: Archive?
        ) {
            self.shards = shards
            self.pages = pages
            self.plain = plain
            self.tls = tls
            self.webhooks = webhooks
            self.archive = archive
        }
    }

    /// Creates the console; `nil` if the configuration has none.
    package init?(_ configuration: Configuration, limitHits: LimitHits, log: Logger) {
        let isOpen = configuration.servesOpenConsole
        guard isOpen || configuration.console.port != nil else { return nil }
        configurationInForce = Mutex(configuration)
        self.limitHits = limitHits
        self.log = log
        app = App(
            id: AppID("console-\(Hex.random(length: 16))"),
            key: Hex.random(length: 32),
            secret: AppSecret(Hex.random(length: 64)),
            recovery: RecoverySettings { $0.isEnabled = false }
        )
        guard let name = try? ChannelName(Self.channel) else { return nil }
        address = ChannelAddress(app: app.id, name: name)
        samples = ConsoleSamples()
        sessions = isOpen ? nil : ConsoleSessions(configuration)
        feed = ConsoleFeed(of: app.id, showsData: configuration.console.payloads ?? isOpen)
        feed.hasSubscriber = { [weak self] in self?.startFeeding() }
    }

    /// Whether the page needs no password, and is at the plain port.
    package var isOpen: Bool { sessions == nil }

    /// Whether the page is served; not after a reload that replaced the development app.
    var isServed: Bool { !isRevoked.load(ordering: .acquiring) }

    // MARK: - Life

    /// The configuration in force.
    var configuration: Configuration { configurationInForce.withLock { $0 } }

    /// Whether the broker runs.
    private var isStarted: Bool { place.withLock { $0 != nil } }

    /// The shards of the broker while it runs.
    var shards: [Shard] { place.withLock { $0?.shards ?? [] } }

    /// The counters of webhooks.
    func webhookCounters() -> WebhookCounters {
        place.withLock { $0?.webhooks }?.counters ?? WebhookCounters()
    }

    /// What became of each endpoint's webhooks.
    func endpointReports() async -> [EndpointReport] {
        await place.withLock { $0?.webhooks }?.endpointReports() ?? []
    }

    /// What the archive has; `nil` without one.
    func archiveReading() -> Archive.Reading? { place.withLock { $0?.archive }?.reading }

    /// The number of pages that are connected; they are not counted among the clients.
    var pageCount: Int { app.quota.takenCount }

    /// Begins to sample the load.
    package func start(in place: Place) async {
        self.place.withLock { $0 = place }
        let own = place.pages
        let path = own.isEmpty ? configuration.pathPrefix : ""
        for address in own.isEmpty ? place.plain : own {
            log.info("console", metadata: ["address": "http://\(address)\(path)/"])
        }
        let task = Task { [weak self, samples] in
            while !Task.isCancelled {
                guard let (sample, _) = await self?.sample() else { return }
                samples.append(sample)
                try? await Task.sleep(for: ConsoleSamples.interval)
            }
        }
        sampling.withLock { $0 = task }
    }

    /// Ends the samples and the feed.
    package func stop() {
        // First, so that a feed that ends does not begin again.
        place.withLock { $0 = nil }
        sampling.withLock { $0?.cancel() }
        feeding.withLock { $0?.cancel() }
    }

    /// Takes over what a reload has changed, and closes a console without a password to apps that are not for development.
    ///
    /// - Parameters:
    ///   - configuration: The configuration that was loaded.
    ///   - registry: Its apps.
    package func wasReloaded(_ configuration: Configuration, _ registry: AppRegistry) {
        configurationInForce.withLock { $0 = $0.reloaded(configuration) }
        guard isOpen, !registry.isDevelopment else { return }
        isRevoked.store(true, ordering: .releasing)
        feed.isWatched = false
    }

    // MARK: - The feed

    /// Called on a shard's thread when a page has subscribed.
    private func startFeeding() {
        guard isServed, !isFeeding.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let task = Task { [weak self] in
            guard let self else { return }
            await runFeed()
            isFeeding.store(false, ordering: .releasing)
            // A page that has subscribed since the last look found the feed running.
            guard let shards = place.withLock({ $0?.shards }), await isSubscribed(shards) else {
                return
            }
            startFeeding()
        }
        feeding.withLock { $0 = task }
    }

    /// Sends what happens until no page is subscribed.
    private func runFeed() async {
        guard let shards = place.withLock({ $0?.shards }) else { return }
        await watch(true, shards)
        var turn = 0
        // A page that subscribes while the broker stops begins a feed behind the cancellation.
        while !Task.isCancelled, isServed, isStarted, await isSubscribed(shards) {
            await closeEndedPages()
            if turn % Self.interval.sample == 0, let (sample, reading) = await sample() {
                await send("load", load(sample, reading), to: shards)
            }
            if let batch = feed.takeBatch() { await send("events", batch, to: shards) }
            turn += 1
            try? await Task.sleep(for: Self.interval.batch)
        }
        await watch(false, shards)
    }

    private func watch(_ isWatched: Bool, _ shards: [Shard]) async {
        feed.isWatched = isWatched
        for shard in shards { await shard.updateObservers() }
    }

    private func isSubscribed(_ shards: [Shard]) async -> Bool {
        for shard in shards where await shard.hasSubscribers(of: address) { return true }
        return false
    }

    /// Sends an event to the pages, past the homes of channels: it is neither kept nor counted, nor sent to other nodes.
    private func send(_ event: String, _ data: [UInt8], to shards: [Shard]) async {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("event")
        writer.string(event)
        writer.name("channel")
        writer.string(Self.channel)
        writer.name("data")
        writer.string(data.span)
        writer.endObject()
        let message = ChannelMessage(text: writer.bytes)
        for shard in shards { await shard.send(message, to: address) }
    }

    /// The load as the page gets it each second: a sample, and what has happened since the start.
    private func load(_ sample: ConsoleSamples.Sample, _ reading: ShardReading) -> [UInt8] {
        let apps = Set(configuration.apps.map { AppID($0.id) })
        let gaps = RecoveryCounts.Result.gaps.reduce(0) { $0 + reading.recovery[$1] }
        let numbers: [(String, Int?)] = [
            ("deadLetters", webhookCounters().dead), ("memory", Self.residentBytes), ("gaps", gaps),
            ("keptBytes", reading.keptBytes), ("fileBytes", archiveReading()?.fileBytes),
            ("fileFailures", archiveReading()?.failures),
        ]
        return samples.live(sample, limits: limitHits.counts, numbers) { writer in
            refusals.write(to: &writer, apps.contains)
        }
    }

    /// The memory that the process uses, in bytes (proc_pid_statm(5)); `nil` if that is not to be read.
    private static var residentBytes: Int? {
        guard let bytes = try? FileBytes.read("/proc/self/statm") else { return nil }
        let words = bytes.split(separator: UInt8(ascii: " "))
        guard words.count > 1, let pages = Int(String(decoding: words[1], as: UTF8.self)) else {
            return nil
        }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private func sample() async -> (ConsoleSamples.Sample, ShardReading)? {
        guard let shards = place.withLock({ $0?.shards }) else { return nil }
        var sum = ShardReading()
        var (loopDelay, sendDelay) = (Duration.zero, Duration.zero)
        for shard in shards {
            let asked = MonotonicTime.current
            let (reading, taken, sendTime) = await shard.takeTimedReading()
            sum.add(reading)
            let delay = asked.duration(to: taken)
            loopDelay = max(loopDelay, delay)
            if sendTime > .zero { sendDelay = max(sendDelay, delay + sendTime) }
        }
        // The pages themselves are not among the clients.
        sum.connections = max(0, sum.connections - pageCount)
        let isWatched = feed.isWatched
        sum.channels = max(0, sum.channels - (isWatched ? 1 : 0))
        return (ConsoleSamples.Sample(sum, loopDelay: loopDelay, sendDelay: sendDelay), sum)
    }

    // MARK: - What the page asks for

    /// What the page needs to connect and to show snippets, as JSON.
    ///
    /// - Parameter registry: The apps. Their secrets are left out, unless they are public.
    /// - Returns: A JSON object.
    func description(_ registry: AppRegistry) -> [UInt8] {
        let place = place.withLock { $0 }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("key")
        writer.string(app.key)
        writer.name("channel")
        writer.string(Self.channel)
        writer.name("version")
        writer.string(BrokerVersion.current)
        writer.name("payloads")
        writer.boolean(feed.showsData)
        writer.name("hasPassword")
        writer.boolean(!isOpen)
        writer.name("host")
        writer.string(configuration.hosts.first ?? "")
        writer.name("path")
        writer.string(configuration.pathPrefix)
        for (name, address) in [("port", place?.plain.first), ("tlsPort", place?.tls)] {
            writer.name(name)
            if let port = address?.port { writer.integer(Int(port)) } else { writer.null() }
        }
        writer.name("apps")
        writer.beginArray()
        for app in registry.apps.all.filter({ registry.isConfigured($0) }) {
            writer.beginObject()
            writer.name("id")
            writer.string(app.id.text)
            writer.name("key")
            writer.string(app.key)
            if isOpen, registry.isDevelopment {
                writer.name("secret")
                writer.string(AppConfiguration.development.secret)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// The signature with which a page may subscribe; `nil` for another channel than the console's.
    func authorization(of channel: String, for socketID: SocketID) -> [UInt8]? {
        guard channel == Self.channel else { return nil }
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: channel,
            key: app.key,
            secret: app.secret
        )
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("auth")
        writer.string(auth)
        writer.endObject()
        return writer.bytes
    }
}
