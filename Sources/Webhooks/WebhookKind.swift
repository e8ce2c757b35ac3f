internal import Broker

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

    /// The events to observe for this kind.
    ///
    /// Arrivals need departures, and the other way round: a departure that a return follows leads to no webhook.
    var observedKinds: BrokerEventKinds {
        switch self {
        case .channelOccupied, .channelVacated: .occupancy
        case .memberAdded, .memberRemoved: .members
        case .clientEvent: .clientEvents
        case .cacheMiss: .cacheMisses
        case .subscriptionCount: .subscriptionCounts
        }
    }

    /// The kind of webhook that an event leads to, or that it bears on; `nil` if there is none.
    init?(_ event: ChannelEvent) {
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
