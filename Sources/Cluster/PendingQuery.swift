import Broker
import Redis
import Shard

/// A query of a backend for channels whose home is this shard, which Redis answers for all nodes.
final class PendingQuery {
    let query: ShardQuery
    let finish: (HomeAnswer) -> Void
    /// Whether Redis has refused a part.
    var isRefused = false
    /// The partial answer, one element for each channel.
    var counts: [ChannelCount] = []
    /// The number of unanswered calls.
    var missing = 0
    /// The number of attempts; replies to earlier attempts are ignored.
    var attempt = 0
    /// Whether it is to be requested again when there is a connection.
    var isWaiting = false
    /// The data of a cached event, whose expiry is not read yet.
    var cachedData: [UInt8]?
    /// The position of the oldest kept message, of any stream.
    var oldest: StreamPosition?
    /// The serials that include the oldest message that has not expired; `nil` if it is ``oldest``.
    var oldestRange: Range<UInt64>?
    /// The messages that are read so far and fit.
    var messages: [StoredMessage] = []
    /// Their size, in bytes.
    var length = 0
    /// Whether more messages match than the page holds.
    var hasMore = false
    /// Whether messages of the page are damaged.
    var isDamaged = false

    init(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        (self.query, self.finish) = (query, finish)
    }

    /// A part of the answer.
    enum Part {
        /// The subscriptions and the members of a channel, by its index.
        case subscriptions(Int), members(Int)
        case users, cachedEvent, cachedExpiry, oldest, purge, termination
        /// The messages of a history; fewer than `countMax` are the last ones.
        case messages(countMax: Int)
        /// The position of a channel that gets a stream if it has none, and of one that may have one.
        case position, lastPosition
    }
}
