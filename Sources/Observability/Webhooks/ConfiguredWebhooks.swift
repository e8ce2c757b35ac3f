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
    ///
    /// - Parameter configuration: The validated configuration of the app; an invalid endpoint is omitted.
    init?(_ configuration: AppConfiguration) {
        let endpoints = configuration.webhooks.compactMap { try? WebhookEndpoint($0) }
        guard configuration.isEnabled, !endpoints.isEmpty else { return nil }
        self.init(
            id: AppID(configuration.id),
            key: configuration.key,
            secret: AppSecret(configuration.secret),
            endpoints: endpoints
        )
    }
}

extension WebhookEndpoint {
    /// Creates the endpoint of a configuration.
    init(_ configuration: WebhookConfiguration) throws(WebhookEndpointFault) {
        try self.init(
            url: configuration.url,
            kinds: Set(configuration.events),
            channelPrefix: configuration.channelPrefix,
            channelSuffix: configuration.channelSuffix,
            headers: configuration.headers,
            isBatched: configuration.isBatching
        )
    }
}
