/// One endpoint of an app's backend, which is told what happens on the app's channels.
public struct WebhookConfiguration: Sendable, Hashable {
    /// What an endpoint can be told of.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// A channel has its first subscriber.
        case channelOccupied = "channel_occupied"
        /// A channel's last subscriber has left.
        case channelVacated = "channel_vacated"
        /// A user's first connection has joined a presence channel.
        case memberAdded = "member_added"
        /// A user's last connection has left a presence channel.
        case memberRemoved = "member_removed"
        /// A client has sent an event.
        case clientEvent = "client_event"
        /// Somebody has subscribed to a cache channel that holds no event.
        case cacheMiss = "cache_miss"
        /// The number of a channel's subscribers has changed.
        case subscriptionCount = "subscription_count"

        /// What every official library understands: some refuse a whole request for one name that they do not know.
        public static let common: [Event] = [
            .channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .clientEvent,
        ]
    }

    /// Where to send to: `https://…` or `http://…`.
    public var url: String
    /// What to tell.
    public var events = Event.common
    /// What a channel's name must begin with; empty for any channel.
    public var channelPrefix = ""
    /// What a channel's name must end with; empty for any channel.
    public var channelSuffix = ""
    /// Fields to send beside the protocol's own, by name; their values may be secrets and are not shown.
    public var headers: [String: String] = [:]
    /// Whether several events may share a request.
    public var isBatching = false

    /// Creates an endpoint that is told what every official library understands, about every channel.
    public init(url: String) { self.url = url }

    /// Fields that the protocol, HTTP or the connection decides about, in lower case.
    static let reservedHeaders: Set<String> = [
        "content-type", "content-length", "transfer-encoding", "content-encoding", "host",
        "connection", "upgrade", "expect", "te", "trailer", "keep-alive", "x-delivery-id",
    ]
    /// How the names of the protocol's own fields begin, in lower case.
    static let reservedHeaderPrefix = "x-pusher-"
    /// The most fields to send beside the protocol's own.
    static let headerCountMax = 20
}

extension WebhookConfiguration: CustomStringConvertible, CustomReflectable {
    /// The endpoint without its headers, fit for a log.
    public var description: String { "webhook \(url)" }

    /// What `dump` and debuggers show: all but the values of headers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url, "events": events.map(\.rawValue), "channelPrefix": channelPrefix,
                "channelSuffix": channelSuffix, "headers": headers.keys.sorted(),
                "isBatching": isBatching,
            ]
        )
    }
}
