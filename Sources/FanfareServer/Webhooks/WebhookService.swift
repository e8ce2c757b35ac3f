import Broker
import Logging
import PusherProtocol
import Webhooks

/// Begins, changes and ends the webhooks of a broker, and reports to them what its channels' homes tell.
///
/// None of it happens on a loop's thread but the report, which is handed over without waiting.
/// While no app has webhooks nothing is begun: no file is opened and no thread is made. They begin at the start, or with
/// the first reload that brings some.
actor WebhookService {
    private nonisolated let webhooks: Webhooks
    private let log: Logger
    private var registry: AppRegistry
    private var isOpen = false
    private var hasBegun = false

    /// Prepares the webhooks of apps; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - settings: Where they wait, how long and how many.
    ///   - registry: The apps.
    ///   - log: Told of endpoints that fail and of all else that concerns webhooks.
    init(settings: WebhookSettings, registry: AppRegistry, log: Logger) {
        webhooks = Webhooks(settings: settings, apps: registry.webhookApps, log: log)
        self.registry = registry
        self.log = log
    }

    /// What has become of webhooks so far.
    nonisolated var counters: WebhookCounters { webhooks.counters }

    /// Begins to send, if an app has webhooks.
    ///
    /// - Throws: What keeps webhooks from being sent, another broker with the same file included.
    func start() async throws(WebhooksError) {
        isOpen = true
        try await begin(refusesFileInUse: true)
    }

    /// Takes over the webhooks of other apps, unless it has those of later ones already.
    func adopt(_ registry: AppRegistry) async {
        guard registry.generation > self.registry.generation else { return }
        self.registry = registry
        await webhooks.replace(apps: registry.webhookApps)
        do {
            // The broker runs: webhooks rather wait in memory than not at all.
            try await begin(refusesFileInUse: false)
        } catch {
            log.error("webhooks cannot be sent", metadata: ["reason": "\(error)"])
        }
    }

    /// Tells of departures no more, as clients are sent away.
    func holdDepartures() async { await webhooks.suppressDepartures() }

    /// Sends what is due, and leaves in the file what cannot be sent in time.
    func stop(within limit: Duration) async {
        isOpen = false
        await webhooks.stop(within: limit)
    }

    private func begin(refusesFileInUse: Bool) async throws(WebhooksError) {
        guard isOpen, !hasBegun, !registry.webhookApps.isEmpty else { return }
        hasBegun = true
        do {
            try await webhooks.start(refusesFileInUse: refusesFileInUse)
        } catch {
            // The next reload may find what is missing now.
            hasBegun = false
            throw error
        }
    }
}

extension WebhookService: BrokerObserver {
    nonisolated func observedKinds(of app: AppID?) -> BrokerEventKinds {
        webhooks.observedKinds(of: app)
    }

    nonisolated func observe(_ event: BrokerEvent, of app: AppID?) {
        webhooks.observe(event, of: app)
    }
}
