import PusherProtocol

/// Why a connection may not join a channel; the connection itself stays open.
enum SubscriptionRefusal: Equatable, CustomStringConvertible {
    /// The name breaks the grammar of channel names; the text says where.
    case invalidName(String)
    /// The connection has as many subscriptions as the app allows.
    case tooMany(limit: Int)
    /// The broker does not serve this type of channel.
    case unavailable(ChannelName)

    /// The `type` of `pusher:subscription_error`.
    var type: String {
        switch self {
        case .invalidName, .unavailable: "InvalidChannel"
        case .tooMany: "LimitReached"
        }
    }

    /// The `status` of `pusher:subscription_error`, with the meaning of an HTTP status.
    var status: Int {
        switch self {
        case .invalidName, .unavailable: 400
        case .tooMany: 4100
        }
    }

    var description: String {
        switch self {
        case .invalidName(let reason): reason
        case .tooMany(let limit): "A connection may have \(limit) subscriptions at the most"
        case .unavailable(let name):
            "Channel \(name.text) is of a type that this broker does not serve"
        }
    }
}
