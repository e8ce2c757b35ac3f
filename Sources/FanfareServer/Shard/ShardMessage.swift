package import Broker
package import PusherProtocol

/// A message from one shard to another.
///
/// A link between two shards is first in, first out, and the home of a channel sends everything about it over one link to
/// each shard: a shard that reads `granted` gets every event that was sequenced later, and none from before.
package enum ShardMessage: Sendable {
    /// To the home: subscribe a connection.
    case subscribe(ChannelAddress, SubscriptionRequest)
    /// To the home of a presence channel: subscribe a connection as a member.
    ///
    /// Indirect, so that events, of which there are far more, do not take the size of a member.
    indirect case subscribeAsMember(ChannelAddress, SubscriptionRequest, Member)
    /// From the home: the connection counts as a subscriber from here on.
    case granted(ChannelAddress, SubscriptionRequest, Grant)
    /// From the home of a presence channel: it has as many members as it may have.
    case refused(ChannelAddress, SubscriptionRequest, membersMax: Int)
    /// To the home: a connection of `shard` is no longer subscribed.
    case unsubscribe(ChannelAddress, shard: Int, SocketID)
    /// To the home: sequence an event and acknowledge it.
    ///
    /// Indirect, so that `fanOut`, of which there are more, does not take its size.
    indirect case publish(ChannelAddress, Publication, PublishReceipt)
    /// From the home: an event of a trigger has its place, or was refused.
    case published(number: UInt64, PendingTrigger.Outcome)
    /// To the home: sequence the event of a subscribed client.
    indirect case publishClientEvent(ChannelAddress, ClientEvent, sender: SocketID)
    /// From the home: send a frame to the shard's own subscribers, except one.
    case fanOut(ChannelAddress, EventFrame, except: SocketID?)
    /// To the home: subscribers of a shard take the channel's events more slowly than they come, or no longer do.
    case congestion(ChannelAddress, shard: Int, isCongested: Bool)
    /// From the home: report when the subscribers have room for more than what was sent before.
    case confirm(ChannelAddress)
    /// To a home: answer a query to `asker`.
    case query(ShardQuery, id: QueryID, asker: Int)
    /// From a home: its part of the answer.
    case answer([ChannelCount], id: QueryID)
    /// About lists of channels, which are queried and answered a portion at a time.
    indirect case listing(ListingMessage)
    /// About users, which are less frequent than events.
    indirect case users(UserMessage)

    /// Whether the message carries a published event, as opposed to a notice of the broker's own.
    package var isEvent: Bool {
        switch self {
        case .publish, .publishClientEvent: true
        case .fanOut(_, let frame, _): !frame.isNotice
        default: false
        }
    }

    /// Whether processing it takes little time apart from the sends that it causes.
    var isBrief: Bool {
        switch self {
        case .publish, .published, .publishClientEvent, .fanOut, .congestion, .confirm: true
        default: false
        }
    }
}

/// A connection's request for a subscription.
package struct SubscriptionRequest: Sendable {
    /// The connection's shard.
    var shard: Int
    /// The connection, which may have closed when the answer arrives.
    var socketID: SocketID
    /// The session's number of the request.
    var number: UInt32
}

/// A message between shards about users.
package enum UserMessage: Sendable {
    /// To the user's home: one more connection is signed in as the user.
    case signedIn(UserAddress)
    /// To the user's home: one connection less is.
    case signedOut(UserAddress)
    /// To the users' home: report which of them are online, now and when that changes.
    case watch(AppID, [UserID], UserHome.Watcher)
    /// To the users' home: stop reporting.
    case unwatch(AppID, [UserID], UserHome.Watcher)
    /// From a home, to the shard of the watchers.
    case report(UserHome.Report)
    /// To every shard: close the connections that are signed in as the user.
    case terminate(UserAddress)
}
