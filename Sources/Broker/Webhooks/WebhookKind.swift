/// The kind of a webhook; the raw value is its `name` in the body.
public enum WebhookKind: String, Sendable, Hashable, CaseIterable {
    /// A channel has its first subscriber.
    case channelOccupied = "channel_occupied"
    /// A channel has lost its last subscriber, and no other has subscribed within the delay.
    case channelVacated = "channel_vacated"
    /// A user has joined a presence channel.
    case memberAdded = "member_added"
    /// A user has left a presence channel, and has not returned within the delay.
    case memberRemoved = "member_removed"
    /// A client has sent an event.
    case clientEvent = "client_event"
    /// A client has subscribed to a cache channel without an event.
    case cacheMiss = "cache_miss"
    /// The number of a channel's subscriptions has changed.
    case subscriptionCount = "subscription_count"

    /// The events to observe for this kind.
    ///
    /// Arrivals need departures, and vice versa: a departure followed by a return leads to no webhook.
    package var observedKinds: BrokerEventKinds {
        switch self {
        case .channelOccupied, .channelVacated: .occupancy
        case .memberAdded, .memberRemoved: .members
        case .clientEvent: .clientEvents
        case .cacheMiss: .cacheMisses
        case .subscriptionCount: .subscriptionCounts
        }
    }

    /// The kind of webhook that an event leads to or affects; `nil` if there is none.
    package init?(_ event: ChannelEvent) {
        switch event {
        case .occupied: self = .channelOccupied
        case .vacated: self = .channelVacated
        case .memberAdded: self = .memberAdded
        case .memberRemoved: self = .memberRemoved
        case .clientEvent: self = .clientEvent
        case .cacheMiss, .cacheFilled: self = .cacheMiss
        case .subscriptionCount: self = .subscriptionCount
        case .subscribed, .unsubscribed, .published: return nil
        }
    }
}
