import Broker
import Logging
import Net
import PusherProtocol
import Synchronization

/// The console: a page that shows what the broker does, and the app that the page is a client of.
///
/// The app exists only in this process, under an ID, a key and a secret that are drawn at each start. The page subscribes to
/// its one channel, over which the broker sends samples of the load and, while anybody is subscribed, what happens.
final class BrokerConsole: Sendable {
    /// The channel of the page.
    static let channel = "private-console"
    /// The time between two batches of events, and the number of these after which the load is sampled.
    private static let interval = (batch: Duration.milliseconds(250), sample: 4)

    /// The app of the page.
    let app: App
    /// What the page shows as it happens.
    let feed: ConsoleFeed
    /// The load of the last hour.
    let samples: ConsoleSamples
    /// Who has signed in; `nil` for the console of a broker for development, which has no password.
    let sessions: ConsoleSessions?
    let log: Logger
    private let limitHits: LimitHits
    private let configuration: Configuration
    private let address: ChannelAddress
    private let place = Mutex<(shards: [Shard], addresses: BrokerServer.Addresses)?>(nil)
    private let sampling = Mutex<Task<Void, Never>?>(nil)
    private let feeding = Mutex<Task<Void, Never>?>(nil)
    private let isFeeding = Atomic(false)
    /// Whether a reload has given a broker for development other apps: then no page without a password may see them.
    private let isRevoked = Atomic(false)

    /// Creates the console; `nil` if the configuration has none.
    init?(_ configuration: Configuration, limitHits: LimitHits, log: Logger) {
        let isOpen = configuration.servesOpenConsole
        guard isOpen || configuration.console.port != nil else { return nil }
        self.configuration = configuration
        self.limitHits = limitHits
        self.log = log
        app = App(
            id: AppID("console-\(Self.token(length: 16))"),
            key: Self.token(length: 32),
            secret: AppSecret(Self.token(length: 64)),
            recovery: RecoverySettings(isEnabled: false)
        )
        guard let name = try? ChannelName(Self.channel) else { return nil }
        address = ChannelAddress(app: app.id, name: name)
        samples = ConsoleSamples()
        sessions = isOpen ? nil : ConsoleSessions(configuration)
        feed = ConsoleFeed(of: app.id, showsData: configuration.console.payloads ?? isOpen)
        feed.hasSubscriber = { [weak self] in self?.startFeeding() }
    }

    /// Whether the page needs no password, and is at the plain port.
    var isOpen: Bool { sessions == nil }

    /// Whether the page is served; not after a reload that replaced the development app.
    var isServed: Bool { !isRevoked.load(ordering: .acquiring) }

    // MARK: - Life

    /// Begins to sample the load.
    ///
    /// - Parameters:
    ///   - shards: The broker's shards.
    ///   - addresses: Where it listens.
    func start(on shards: [Shard], _ addresses: BrokerServer.Addresses) async {
        place.withLock { $0 = (shards, addresses) }
        if let own = addresses.console {
            log.info("console", metadata: ["address": "http://\(own)/"])
        } else if let plain = addresses.plain {
            let path = configuration.pathPrefix
            log.info("console", metadata: ["address": "http://\(plain)\(path)/"])
        }
        let task = Task { [weak self, samples] in
            while !Task.isCancelled {
                guard let sample = await self?.sample() else { return }
                samples.append(sample)
                try? await Task.sleep(for: ConsoleSamples.interval)
            }
        }
        sampling.withLock { $0 = task }
    }

    /// Ends the samples and the feed.
    func stop() {
        // First, so that a feed that ends does not begin again.
        place.withLock { $0 = nil }
        sampling.withLock { $0?.cancel() }
        feeding.withLock { $0?.cancel() }
    }

    /// Closes a console without a password to apps that are not for development.
    ///
    /// - Parameter registry: The apps after a reload.
    func appsWereReplaced(_ registry: AppRegistry) {
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
        while !Task.isCancelled, isServed, await isSubscribed(shards) {
            if turn % Self.interval.sample == 0, let sample = await sample() {
                await send("load", samples.live(sample, limits: limitHits.counts), to: shards)
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
        let frame = EventFrame(envelope: writer.bytes)
        for shard in shards { await shard.send(frame, to: address) }
    }

    private func sample() async -> ConsoleSamples.Sample? {
        guard let shards = place.withLock({ $0?.shards }) else { return nil }
        var sum = ShardReading()
        for shard in shards { sum.add(await shard.reading) }
        // The pages themselves are not among the clients.
        sum.connections = max(0, sum.connections - app.quota.takenCount)
        let isWatched = feed.isWatched
        sum.channels = max(0, sum.channels - (isWatched ? 1 : 0))
        return ConsoleSamples.Sample(sum)
    }

    // MARK: - What the page asks for

    /// What the page needs to connect and to show snippets, as JSON.
    ///
    /// - Parameter registry: The apps. Their secrets are left out, unless they are public.
    /// - Returns: A JSON object.
    func description(_ registry: AppRegistry) -> [UInt8] {
        let addresses = place.withLock { $0?.addresses }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("key")
        writer.string(app.key)
        writer.name("channel")
        writer.string(Self.channel)
        writer.name("version")
        writer.string(BrokerServer.version)
        writer.name("payloads")
        writer.boolean(feed.showsData)
        writer.name("hasPassword")
        writer.boolean(!isOpen)
        writer.name("host")
        writer.string(configuration.host)
        writer.name("path")
        writer.string(configuration.pathPrefix)
        for (name, address) in [("port", addresses?.plain), ("tlsPort", addresses?.tls)] {
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

    /// Returns random hexadecimal digits, of the system's source.
    static func token(length: Int) -> String {
        var digits = ""
        while digits.count < length {
            let part = String(UInt64.random(in: .min ... .max), radix: 16)
            digits += String(repeating: "0", count: 16 - part.count) + part
        }
        return String(digits.prefix(length))
    }
}
