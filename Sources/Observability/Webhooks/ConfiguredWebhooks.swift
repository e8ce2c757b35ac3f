import Broker
package import BrokerConfiguration
import PusherProtocol
import Shard
package import Webhooks

extension WebhookSettings {
    /// The default settings, with the files and limits of the configuration.
    package init(_ configuration: Configuration.Webhooks) {
        self.init(path: configuration.database, trustFile: configuration.trust)
        sendsMax = configuration.inFlightMax
        queueCountMax = configuration.queuedMax
        queueLengthMax = configuration.queuedBytesMax
    }
}

extension AppRegistry {
    /// The apps that have webhooks.
    package var webhookApps: [WebhookApp] { configurations.compactMap { WebhookApp($0) } }
}

extension WebhookApp {
    /// The webhooks of an app; `nil` without endpoints, or when the app is disabled.
    init?(_ configuration: AppConfiguration) {
        guard configuration.isEnabled, !configuration.webhooks.isEmpty else { return nil }
        self.init(
            id: AppID(configuration.id),
            key: configuration.key,
            secret: AppSecret(configuration.secret),
            endpoints: configuration.webhooks
        )
    }
}
