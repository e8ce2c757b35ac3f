import Broker
import PusherProtocol

/// What one shard says to another.
///
/// A line between two shards keeps its order, and a channel's home speaks to each shard over one line: a shard
/// that reads `granted` gets every event that the home takes in afterwards, and none from before.
enum ShardMessage: Sendable {
    /// To the home: a connection wants to join.
    case subscribe(ChannelAddress, Caller)
    /// To the home of a presence channel: a connection wants to join as a member.
    ///
    /// Indirect, so that events, of which there are far more, do not take the room of a member.
    indirect case subscribeAsMember(ChannelAddress, Caller, Member)
    /// From the home: the connection counts as a subscriber from here on.
    case granted(ChannelAddress, Caller, Grant)
    /// From the home of a presence channel: it has as many members as it may have.
    case refused(ChannelAddress, Caller, membersMax: Int)
    /// To the home: a connection of `shard` has left.
    case unsubscribe(ChannelAddress, shard: Int, SocketID)
    /// To the home: an event to be put in order, which it acknowledges.
    ///
    /// Indirect, so that deliveries, of which there are more, do not take its room.
    indirect case publish(ChannelAddress, Publication, PublishReceipt)
    /// From the home: an event of a request is in order, or was refused.
    case published(number: UInt64, PendingTrigger.Outcome)
    /// To the home: subscribers of a shard take the channel's events more slowly than they come, or no longer do.
    case congestion(ChannelAddress, shard: Int, isCongested: Bool)
    /// To the home: an event of a client that is on the channel.
    indirect case clientEvent(ChannelAddress, ClientEvent, sender: SocketID)
    /// From the home: the frame for this shard's own subscribers, except one.
    case deliver(ChannelAddress, EventFrame, except: SocketID?)
    /// From the home: say when the subscribers have room for more than what was delivered before.
    case confirm(ChannelAddress)
    /// To a home: count channels, and send the answer to `asker`.
    case question(ShardQuery, query: QueryID, asker: Int)
    /// From a home: what it counted.
    case answer([ChannelCount], query: QueryID)
    /// About lists of channels, which are asked for and answered a portion at a time.
    indirect case listing(ListingMessage)
    /// About users, of whom there is far less to say than of events.
    indirect case users(UserMessage)

    /// Whether the message carries an event that somebody has published, as opposed to a notice of the broker's own.
    var isEvent: Bool {
        switch self {
        case .publish, .clientEvent: true
        case .deliver(_, let frame, _): !frame.isNotice
        default: false
        }
    }

    /// Whether it takes little time apart from the sends that it brings: an event on its way, or a word about one.
    var isBrief: Bool {
        switch self {
        case .publish, .published, .congestion, .clientEvent, .deliver, .confirm: true
        default: false
        }
    }
}

/// A connection that asked its channel's home for something.
struct Caller: Sendable {
    /// The shard that holds the connection.
    var shard: Int
    /// The connection, which may be gone when the answer comes.
    var socketID: SocketID
    /// The session's number for what it asked.
    var request: UInt32
}
