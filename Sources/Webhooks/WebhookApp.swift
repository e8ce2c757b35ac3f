public import Broker
public import PusherProtocol

/// An app as its webhooks see it: with what they are signed, and where they go.
public struct WebhookApp: Sendable {
    /// Whose events they are.
    public let id: AppID
    /// The value of `X-Pusher-Key`: the oldest key that is in force.
    public let key: String
    /// The secret of ``key``, which signs.
    public let secret: AppSecret
    /// Where webhooks go; each is told of what it asks for.
    public let endpoints: [WebhookEndpoint]

    /// Puts together what is known of an app.
    ///
    /// - Parameters:
    ///   - id: Whose events they are.
    ///   - key: The value of `X-Pusher-Key`.
    ///   - secret: The secret of `key`.
    ///   - endpoints: Where webhooks go.
    public init(id: AppID, key: String, secret: AppSecret, endpoints: [WebhookEndpoint]) {
        self.id = id
        self.key = key
        self.secret = secret
        self.endpoints = endpoints
    }

    /// The endpoints, each with what identifies it.
    var keyedEndpoints: [(EndpointKey, WebhookEndpoint)] {
        var counts: [String: Int] = [:]
        return endpoints.map { endpoint in
            let ordinal = counts[endpoint.url, default: 0]
            counts[endpoint.url] = ordinal + 1
            return (EndpointKey(app: id, url: endpoint.url, ordinal: ordinal), endpoint)
        }
    }
}

/// What identifies an endpoint, also after a reload of the configuration or a restart.
struct EndpointKey: Hashable, Sendable {
    let app: AppID
    let url: String
    /// The place among the app's endpoints of the same URL, from zero.
    let ordinal: Int
}
