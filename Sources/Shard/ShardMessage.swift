package import Broker
package import PusherProtocol

/// A message from one shard to another.
///
/// A link between two shards is first in, first out. The home of a channel sends everything about it over one link to
/// each shard. So a shard that reads `granted` gets every event that is sequenced later, and none from before.
package enum ShardMessage: Sendable {
    /// To the home: subscribe a connection.
    case subscribe(ChannelAddress, SubscriptionRequest)
    /// To the home of a presence channel: subscribe a connection as a member.
    ///
    /// Indirect, so that events, which are far more frequent, do not take the size of a member.
    indirect case subscribeAsMember(ChannelAddress, SubscriptionRequest, Member)
    /// To the home: subscribe a connection that tracks its position in the channel's stream.
    indirect case subscribeFrom(PositionRequest, ChannelAddress, SubscriptionRequest, Member?)
    /// From the home: the connection is subscribed.
    case granted(ChannelAddress, SubscriptionRequest, Grant)
    /// From the home: the subscription is refused.
    indirect case refused(ChannelAddress, SubscriptionRequest, SubscriptionRefusal)
    /// From the home: the channel continues in another stream; on a presence channel with its members.
    indirect case restarted(ChannelAddress, SubscriptionStart, members: [Member])
    /// From the home in a cluster: messages are missing; clients that track the channel continue from the start, all
    /// others reconnect.
    indirect case lost(ChannelAddress, SubscriptionStart?, members: [Member])
    /// From the home in a cluster: close the client, whose subscription cannot be granted.
    case reconnect(SocketID)
    /// To the home: a connection of `shard` is no longer subscribed.
    case unsubscribe(ChannelAddress, shard: Int, SocketID)
    /// To the home: sequence an event and acknowledge it.
    ///
    /// Indirect, so that `fanOut`, which is more frequent, does not take its size.
    indirect case publish(ChannelAddress, Publication, PublishReceipt)
    /// From the home: an event of a trigger is sequenced, or was refused.
    case published(number: UInt64, PendingTrigger.Outcome)
    /// To the home: sequence the event of a subscribed client.
    indirect case publishClientEvent(ChannelAddress, ClientEvent, sender: SocketID)
    /// From the home: send a receipt or an error to the sender of a client event.
    indirect case reply(ServerMessage, to: SocketID)
    /// From the home: send a message to the shard's own subscribers, except one.
    case fanOut(ChannelAddress, ChannelMessage, except: SocketID?)
    /// From the home: send the event of a subscribed client, whose sender gets a receipt under its key.
    indirect case fanOutWithReceipt(
        ChannelAddress,
        ChannelMessage,
        IdempotencyKey,
        sender: SocketID
    )
    /// To the home: subscribers of a shard are congested, or no longer are.
    case congestion(ChannelAddress, shard: Int, isCongested: Bool)
    /// From the home: report when the subscribers have room for more than what was sent before.
    case confirm(ChannelAddress)
    /// To a home: answer a query to `asker`.
    case query(ShardQuery, id: QueryID, asker: Int)
    /// From a home: its part of the answer.
    indirect case answer(HomeAnswer, id: QueryID)
    /// About lists of channels, which are queried and answered a portion at a time.
    indirect case listing(ListingMessage)
    /// About the sessions of stock clients.
    indirect case sessions(SessionMessage)
    /// About connection records.
    indirect case delivery(DeliveryMessage)
    /// From the archive, which has written or read something.
    indirect case archive(ArchiveReply)
    /// From the webhooks, in a cluster: an event of a partition's queue is completed.
    indirect case webhookSettled(QueuedEvent.ID, isDelivered: Bool)
    /// About users, which are less frequent than events.
    indirect case users(UserMessage)

    /// Whether the message carries a published event, in contrast to a notice of the broker.
    package var isEvent: Bool {
        switch self {
        case .publish, .publishClientEvent: true
        case .fanOut(_, let message, _): !message.isNotice
        case .fanOutWithReceipt: true
        default: false
        }
    }

    /// Whether processing takes little time, apart from the sends that it causes.
    var isBrief: Bool {
        switch self {
        case .publish, .published, .publishClientEvent, .reply, .fanOut, .fanOutWithReceipt,
            .congestion, .confirm:
            true
        default: false
        }
    }
}

/// A connection's request for a subscription.
package struct SubscriptionRequest: Sendable {
    /// The connection, which may have closed when the answer arrives.
    package var socketID: SocketID
    /// The number of the request in the session.
    var number: UInt32
    /// A digest of the client's address; 0 if it is not known.
    package var addressDigest: UInt32
    /// The index of the connection's shard; four bytes, so that a ``ShardMessage`` has room for its case.
    private let shardIndex: UInt32
    /// The read of the archive that supplied the grant's messages; its memory counts until they are queued.
    var read: ArchiveRead?

    /// The connection's shard.
    package var shard: Int { Int(shardIndex) }

    package init(shard: Int, socketID: SocketID, number: UInt32, addressDigest: UInt32 = 0) {
        self.socketID = socketID
        self.number = number
        self.addressDigest = addressDigest
        shardIndex = UInt32(shard)
    }
}

extension Subscriber {
    /// Creates the subscriber that a request is about.
    package init(
        _ request: SubscriptionRequest,
        as member: Member?,
        from position: PositionRequest?
    ) {
        self.init(
            request.socketID,
            shard: request.shard,
            member: member,
            position: position,
            addressDigest: request.addressDigest
        )
    }
}

/// A message between shards about users.
package enum UserMessage: Sendable {
    /// To the user's home: a connection has signed in as the user.
    case signedIn(UserAddress)
    /// To the user's home: a connection has signed out.
    case signedOut(UserAddress)
    /// To the users' home: report the online status of these users, now and on changes.
    case watch(AppID, [UserID], UserHome.Watcher)
    /// To the users' home: stop reporting.
    case unwatch(AppID, [UserID], UserHome.Watcher)
    /// From a home to the shard of the watchers: a change of online status.
    case report(UserHome.Report)
    /// To every shard: close the connections that are signed in as the user.
    case terminate(UserAddress)
}
