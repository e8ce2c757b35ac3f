import Broker
import PusherProtocol
import Webhooks

extension WebhookSettings {
    /// The default settings, with the files and limits that the configuration names.
    init(_ configuration: Configuration.Webhooks) {
        self.init(path: configuration.database, trustFile: configuration.trust)
        sendsMax = configuration.inFlightMax
        queueCountMax = configuration.queuedMax
        queueLengthMax = configuration.queuedBytesMax
    }
}

extension WebhookApp {
    /// The webhooks of an app; `nil` when nobody is to be told anything.
    ///
    /// That is, when no endpoint is configured or the app is switched off.
    ///
    /// - Parameter configuration: The app; its faults have been judged, and an endpoint that has some is left out.
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
    /// The endpoint that the configuration describes.
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
