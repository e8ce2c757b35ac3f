import FanfareServer
import Webhooks

/// A summary of an app's configuration, without secrets.
enum AppSummary {
    /// The lines: key, limits, features, origins and webhooks.
    static func lines(of app: AppConfiguration) -> [String] {
        guard app.isEnabled else { return ["key \(app.key), disabled"] }
        var lines = ["key \(app.key)\(credentials(of: app))\(limits(of: app))"]
        lines.append("features: " + features(of: app).joined(separator: ", "))
        if app.isTLSOnly { lines.append("TLS only") }
        if !app.allowedOrigins.isEmpty {
            lines.append("origins " + app.allowedOrigins.joined(separator: ", "))
        }
        return lines + app.webhooks.map { "webhook " + describe($0) }
    }

    private static func credentials(of app: AppConfiguration) -> String {
        switch app.credentials.count {
        case 0: ""
        case 1: " and 1 more credential"
        case let count: " and \(count) more credentials"
        }
    }

    private static func limits(of app: AppConfiguration) -> String {
        var limits: [String] = []
        if let count = app.connectionsMax { limits.append("\(count) connections") }
        limits.append("\(app.subscriptionsMax) channels per connection")
        if let count = app.subscriptionsPerSecondMax {
            limits.append("\(count) subscriptions per second")
        }
        limits.append("data up to \(ConfigurationSummary.bytes(app.eventDataLengthMax))")
        if let count = app.requestsPerSecondMax { limits.append("\(count) requests per second") }
        return limits.map { ", " + $0 }.joined()
    }

    private static func features(of app: AppConfiguration) -> [String] {
        var features: [String] = []
        if app.features.clientEvents {
            features.append("client events (\(app.clientEventsPerSecondMax) per second)")
        }
        if app.features.subscriptionCount { features.append("subscription counts") }
        if app.features.users { features.append("users") }
        if app.features.watchlist { features.append("watchlists") }
        if app.features.authorizedConnections {
            features.append("authorized connections (\(app.features.authorizationTimeout) s)")
        }
        return features.isEmpty ? ["none"] : features
    }

    private static func describe(_ webhook: WebhookConfiguration) -> String {
        var text = webhook.url + ": " + webhook.events.map(\.rawValue).joined(separator: ", ")
        if !webhook.channelPrefix.isEmpty { text += ", channels \(webhook.channelPrefix)…" }
        if !webhook.channelSuffix.isEmpty { text += ", channels …\(webhook.channelSuffix)" }
        if webhook.isBatching { text += ", batched" }
        return text
    }
}
