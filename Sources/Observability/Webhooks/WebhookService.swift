import Broker
package import Logging
import PusherProtocol
package import Shard
package import Webhooks

/// Starts, changes and stops the webhooks of a broker, and passes the events of channels to them.
///
/// Only `observe(_:of:)` runs on a loop's thread; it does not block. While no app has webhooks, nothing is started: no
/// file is opened and no thread created. Webhooks start with the broker, or with the first reload that has some.
package actor WebhookService {
    package nonisolated let webhooks: Webhooks
    private let log: Logger
    private var registry: AppRegistry
    private var isOpen = false
    private var hasStarted = false

    /// Creates the service; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - settings: The files, limits and delays.
    ///   - registry: The apps.
    ///   - log: Receives errors of endpoints and all else about webhooks.
    package init(settings: WebhookSettings, registry: AppRegistry, log: Logger) {
        webhooks = Webhooks(settings: settings, apps: registry.webhookApps, log: log)
        self.registry = registry
        self.log = log
    }

    /// The counters of webhooks.
    package nonisolated var counters: WebhookCounters { webhooks.counters }

    /// What became of each endpoint's webhooks.
    package nonisolated func endpointReports() async -> [EndpointReport] {
        await webhooks.endpointReports()
    }

    /// Starts sending, if an app has webhooks.
    ///
    /// - Throws: The error that prevents sending, such as another broker that uses the same file.
    package func start() async throws(WebhooksError) {
        isOpen = true
        try await startIfNeeded(refusesFileInUse: true)
    }

    /// Replaces the apps, unless the registry is older than the present one.
    package func replaceApps(_ registry: AppRegistry) async {
        guard registry.generation > self.registry.generation else { return }
        self.registry = registry
        await webhooks.replace(apps: registry.webhookApps)
        do {
            // The broker is running: webhooks queued in memory are better than none.
            try await startIfNeeded(refusesFileInUse: false)
        } catch {
            log.error("webhooks cannot be sent", metadata: ["reason": "\(error)"])
        }
    }

    /// Stops the webhooks of departures, because the shutdown closes all clients.
    package func suppressDepartures() async { await webhooks.suppressDepartures() }

    /// Sends due webhooks until the limit; the rest stays in the file.
    package func stop(within limit: Duration) async {
        isOpen = false
        await webhooks.stop(within: limit)
    }

    private func startIfNeeded(refusesFileInUse: Bool) async throws(WebhooksError) {
        guard isOpen, !hasStarted, !registry.webhookApps.isEmpty else { return }
        hasStarted = true
        do {
            try await webhooks.start(refusesFileInUse: refusesFileInUse)
        } catch {
            // The next reload may succeed.
            hasStarted = false
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
