/// The number of subscribed connections of one channel, by shard.
///
/// The channel's home counts them, and sends each event to the shards that have subscribers. The connections themselves
/// belong to the shard that accepted them.
public struct SubscriberCounts: Sendable {
    /// Subscribed connections by shard, without the home itself and without shards that have none.
    private var elsewhere: [Int: Int] = [:]
    private var atHome = 0
    private let home: Int

    /// Creates the counts of a channel without subscribers, on its home shard.
    public init(home: Int) { self.home = home }

    /// The number of subscribed connections on all shards.
    public var total: Int { elsewhere.values.reduce(atHome, +) }

    /// Whether no connection is subscribed.
    public var isEmpty: Bool { atHome == 0 && elsewhere.isEmpty }

    /// The other shards that have subscribers, in no particular order.
    public var otherShards: [Int] { elsewhere.isEmpty ? [] : Array(elsewhere.keys) }

    /// Increments the count of `shard`.
    public mutating func add(from shard: Int) {
        if shard == home {
            atHome += 1
        } else {
            elsewhere[shard, default: 0] += 1
        }
    }

    /// Decrements the count of `shard`.
    ///
    /// - Precondition: The count is positive.
    public mutating func remove(from shard: Int) {
        let count = shard == home ? atHome : elsewhere[shard] ?? 0
        precondition(count > 0, "more unsubscribed than subscribed")
        if shard == home {
            atHome -= 1
        } else {
            elsewhere[shard] = count == 1 ? nil : count - 1
        }
    }
}
