public import Broker
public import PusherProtocol

/// Something that happened on a channel and that an app's backend may want to hear of.
///
/// The home of a channel reports them raw: each in the order in which it happened, also a departure that a return
/// follows at once. What of them is told to the backend, and when, is decided in this room.
public enum WebhookEvent: Sendable, Equatable {
    /// The first subscriber has come; reported before the member that came with it.
    case channelOccupied(ChannelName)
    /// The last subscriber has gone; reported after the member that went with it.
    case channelVacated(ChannelName)
    /// The first connection of a user has joined a presence channel.
    case memberAdded(ChannelName, userID: UserID)
    /// The last connection of a user has left a presence channel.
    case memberRemoved(ChannelName, userID: UserID)
    /// A client event was accepted.
    ///
    /// `nameToken` and `dataToken` are JSON strings with their quotes, as a `ClientEvent` has them: the same bytes as
    /// the subscribers get. `userID` is for presence channels alone.
    case clientEvent(
        ChannelName,
        nameToken: [UInt8],
        dataToken: [UInt8]?,
        sender: SocketID,
        userID: UserID?
    )
    /// A client has subscribed to a cache channel that holds no event.
    case cacheMiss(ChannelName)
    /// A cache channel that held no event has got one: the next miss is news again.
    ///
    /// No webhook tells of it.
    case cacheFilled(ChannelName)
    /// The number of subscriptions has changed; reported at the pace of the protocol's `subscription_count` events.
    case subscriptionCount(ChannelName, Int)

    /// The webhook that this leads to, or bears on.
    public var kind: WebhookKind {
        switch self {
        case .channelOccupied: .channelOccupied
        case .channelVacated: .channelVacated
        case .memberAdded: .memberAdded
        case .memberRemoved: .memberRemoved
        case .clientEvent: .clientEvent
        case .cacheMiss, .cacheFilled: .cacheMiss
        case .subscriptionCount: .subscriptionCount
        }
    }

    /// Where it happened.
    public var channel: ChannelName {
        switch self {
        case .channelOccupied(let channel), .channelVacated(let channel),
            .memberAdded(let channel, _), .memberRemoved(let channel, _),
            .clientEvent(let channel, _, _, _, _), .cacheMiss(let channel),
            .cacheFilled(let channel), .subscriptionCount(let channel, _):
            channel
        }
    }
}
