/// What a webhook can tell; the raw value is its `name` in the body.
public enum WebhookKind: String, Sendable, Hashable, CaseIterable {
    /// A channel has its first subscriber.
    case channelOccupied = "channel_occupied"
    /// A channel has lost its last subscriber, and none has come since.
    case channelVacated = "channel_vacated"
    /// A user has joined a presence channel.
    case memberAdded = "member_added"
    /// A user has left a presence channel, and has not come back.
    case memberRemoved = "member_removed"
    /// A client has sent an event.
    case clientEvent = "client_event"
    /// A cache channel was found empty.
    case cacheMiss = "cache_miss"
    /// A channel has more or fewer subscriptions than before.
    case subscriptionCount = "subscription_count"

    /// The kinds whose reports are needed so that this kind can be told rightly.
    ///
    /// Whether an arrival is news depends on the departure before it, and whether a departure is depends on the
    /// arrival after it.
    var witnesses: Set<WebhookKind> {
        switch self {
        case .channelOccupied, .channelVacated: [.channelOccupied, .channelVacated]
        case .memberAdded, .memberRemoved: [.memberAdded, .memberRemoved]
        default: [self]
        }
    }
}
