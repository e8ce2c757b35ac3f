package import Broker
import PusherProtocol

/// The number of a query among those of the shard that asks.
package typealias QueryID = UInt64

/// What can be asked of the homes of channels.
package enum ShardQuery: Sendable {
    /// The counts of these channels, vacant ones included.
    case counts([ChannelAddress])
    /// The users of this presence channel.
    case users(ChannelAddress)
    /// The counts of this cache channel, and its cached event.
    case cached(ChannelAddress)
}

/// What a home answers about one channel.
package struct ChannelCount: Sendable {
    var name: ChannelName
    /// The number of subscribed connections.
    var subscriptionCount: Int
    /// The number of users, if it is a presence channel.
    var userCount: Int
    /// The users, if they were asked for.
    var users: [UserID] = []
    /// The cached event, if it was asked for.
    var cache: ChannelAttributes.Cache?
}
