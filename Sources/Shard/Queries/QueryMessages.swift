package import Broker
package import PusherProtocol

// MARK: - Queries

/// The number of a query among those of the shard that sends it.
package typealias QueryID = UInt64

/// Where the answer to a query goes.
struct QueryReply {
    /// The query.
    let id: QueryID
    /// The shard that sent it.
    let asker: Int
}

/// A query to the homes of channels.
package enum ShardQuery: Sendable {
    /// The counts of these channels, including vacant ones.
    case counts([ChannelAddress])
    /// The users of this presence channel.
    case users(ChannelAddress)
    /// The counts of this cache channel, and its cached event.
    case cached(ChannelAddress)
    /// The counts of this channel, its cached event, and the position of its last message.
    case state(ChannelAddress)
    /// Messages that this channel keeps; the read is cancelled when the backend has disconnected.
    indirect case history(ChannelAddress, HistoryQuery, ArchiveRead)
    /// The record of this message of the channel.
    indirect case trace(ChannelAddress, serial: UInt64)
    /// Drop what this channel keeps, and return the position of the stream that begins.
    case purge(ChannelAddress)

    /// In a cluster: close the connections of this user on all nodes.
    case terminate(UserAddress)

    /// The channel; `nil` for a query for several, or for none.
    package var address: ChannelAddress? {
        switch self {
        case .counts, .terminate: nil
        case .users(let address), .cached(let address), .state(let address),
            .history(let address, _, _), .trace(let address, _), .purge(let address):
            address
        }
    }
}

/// Why a home cannot answer a query about a channel's kept data.
package enum QueryFailure: Error {
    /// The app keeps no messages, or is no longer served.
    case keepsNothing
    /// The archive cannot be read.
    case archiveUnreadable
    /// Redis cannot be read.
    case redisUnreadable
}

/// The answer of a home to a query.
package typealias HomeAnswer = Result<[ChannelCount], QueryFailure>

/// The answer of a home about one channel.
package struct ChannelCount: Sendable {
    package var name: ChannelName
    /// The number of subscribed connections.
    package var subscriptionCount: Int
    /// The number of users, if it is a presence channel.
    package var userCount: Int
    /// The users, if requested.
    package var users: [UserID] = []
    /// The cached event, if requested.
    package var cache: ChannelAttributes.Cache?
    /// The position of the last message, if requested and numbered.
    package var position: ChannelPosition?
    /// The kept messages, if requested.
    package var history: HistoryPage?
    /// The record of a message, if requested.
    package var trace: TracedMessage?
    /// Why the requested data of the channel is missing.
    package var failure: QueryFailure?

    package init(
        name: ChannelName,
        subscriptionCount: Int,
        userCount: Int,
        users: [UserID] = [],
        cache: ChannelAttributes.Cache? = nil,
        position: ChannelPosition? = nil,
        history: HistoryPage? = nil,
        trace: TracedMessage? = nil,
        failure: QueryFailure? = nil
    ) {
        self.name = name
        self.subscriptionCount = subscriptionCount
        self.userCount = userCount
        self.users = users
        self.cache = cache
        self.position = position
        self.history = history
        self.trace = trace
        self.failure = failure
    }
}

// MARK: - Lists of channels

/// The number of a list among those of the shard that assembles it.
package typealias ListingID = UInt64

/// A message between shards about a list of channels.
package enum ListingMessage: Sendable {
    /// To a home: send the next channels to `asker`.
    case ask(ChannelRange, listing: ListingID, asker: Int)
    /// From a home: its next channels.
    case portion(ChannelPortion, listing: ListingID, home: Int)
}

/// The range of occupied channels of an app that is requested from one home.
package struct ChannelRange: Sendable {
    package var app: AppID
    /// The prefix of the names; empty for all.
    package var prefix: String
    /// The name to start after; empty for the first.
    package var cursor: String
    /// The requested attributes of each channel.
    package var info: InfoAttributes
    /// The maximum number of channels.
    package var limit: Int
}

/// The next channels of one home, sorted by name.
package struct ChannelPortion: Sendable {
    package struct Entry: Sendable {
        var name: ChannelName
        /// The number of subscribed connections, if requested.
        var subscriptionCount = 0
        /// The number of users on a presence channel, if requested.
        var userCount = 0

        package init(
            name: ChannelName,
            subscriptionCount: Int = 0,
            userCount: Int = 0
        ) {
            self.name = name
            self.subscriptionCount = subscriptionCount
            self.userCount = userCount
        }
    }

    var entries: [Entry]
    /// Whether the home has no more channels.
    var isComplete: Bool
    /// The number of all occupied channels of the app with their home there, regardless of the prefix.
    var occupiedCount: Int
    /// Why the home cannot list its channels; `nil` if it can.
    var failure: QueryFailure?

    package init(
        entries: [Entry],
        isComplete: Bool,
        occupiedCount: Int,
        failure: QueryFailure? = nil
    ) {
        self.entries = entries
        self.isComplete = isComplete
        self.occupiedCount = occupiedCount
        self.failure = failure
    }

    /// The portion of a home that cannot read its channels in Redis.
    package static var unreadable: ChannelPortion {
        ChannelPortion(entries: [], isComplete: true, occupiedCount: 0, failure: .redisUnreadable)
    }
}
