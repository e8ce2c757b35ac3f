public import Broker
public import PusherProtocol

/// The configuration of an app's webhooks: the key that signs, and the endpoints.
public struct WebhookApp: Sendable {
    /// The app's identifier.
    public let id: AppID
    /// The value of `X-Pusher-Key`: the app's oldest key.
    public let key: String
    /// The secret of ``key``, which signs.
    public let secret: AppSecret
    /// The endpoints; each receives the kinds of events that it requests.
    public let endpoints: [WebhookConfiguration]

    /// Creates the configuration of an app with the value of `X-Pusher-Key` and its secret.
    public init(id: AppID, key: String, secret: AppSecret, endpoints: [WebhookConfiguration]) {
        self.id = id
        self.key = key
        self.secret = secret
        self.endpoints = endpoints
    }

    /// The endpoints with their keys.
    var keyedEndpoints: [(EndpointKey, WebhookConfiguration)] {
        var counts: [String: Int] = [:]
        return endpoints.map { endpoint in
            let ordinal = counts[endpoint.url, default: 0]
            counts[endpoint.url] = ordinal + 1
            return (EndpointKey(app: id, url: endpoint.url, ordinal: ordinal), endpoint)
        }
    }
}

/// The identity of an endpoint, stable over reloads of the configuration and restarts.
struct EndpointKey: Hashable, Sendable {
    let app: AppID
    let url: String
    /// The index among the app's endpoints of the same URL, from zero.
    let ordinal: Int
}

extension WebhookConfiguration {
    /// The webhooks that the endpoint receives.
    var filter: WebhookFilter {
        WebhookFilter(
            kinds: Set(events),
            channelPrefix: channelPrefix,
            channelSuffix: channelSuffix
        )
    }
}
