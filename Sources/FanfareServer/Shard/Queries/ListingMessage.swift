import Broker
import PusherProtocol

/// Names a list among those that a shard puts together.
package typealias ListingID = UInt64

/// What shards say to each other about lists of channels.
package enum ListingMessage: Sendable {
    /// To a home: send the next channels to `asker`.
    case ask(ChannelRange, listing: ListingID, asker: Int)
    /// From a home: its next channels.
    case portion(ChannelPortion, listing: ListingID, home: Int)
}

/// The occupied channels of an app that are wanted next of one home.
package struct ChannelRange: Sendable {
    var app: AppID
    /// What the names begin with; empty for all.
    var prefix: String
    /// The name behind which to begin; empty for the first.
    var cursor: String
    /// What is to be known of each channel.
    var info: InfoAttributes
    /// How many channels at most.
    var limit: Int
}

/// The next channels of one home, in the order of their names.
package struct ChannelPortion: Sendable {
    struct Entry: Sendable {
        var name: ChannelName
        /// The connections that are subscribed, if that was wanted.
        var subscriptionCount = 0
        /// The users on a presence channel, if that was wanted.
        var userCount = 0
    }

    var entries: [Entry]
    /// Whether the home has no others behind them.
    var isComplete: Bool
    /// How many occupied channels of the app have their home there, whatever they are called.
    var occupiedCount: Int
}
