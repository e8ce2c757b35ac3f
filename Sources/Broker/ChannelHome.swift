public import PusherProtocol

/// The channels whose home is one shard: who has subscribers, and how many.
///
/// The home alone counts a channel's subscriptions and decides which shards an event goes to, so that each event
/// has one place in the channel's order. It holds no connections: those are each shard's own.
public struct ChannelHome: Sendable {
    private struct Channel {
        /// Subscribed connections by shard.
        var subscriptions: [Int]
        var subscriptionCount: Int { subscriptions.reduce(0, +) }
    }

    private let shardCount: Int
    private var channels: [AppID: [ChannelName: Channel]] = [:]

    /// Makes the home of no channels, in a broker of `shardCount` shards.
    public init(shardCount: Int) {
        self.shardCount = shardCount
    }

    /// Counts one more connection of `shard` among the channel's subscribers.
    ///
    /// - Returns: Whether the channel was vacant before.
    @discardableResult
    public mutating func subscribe(_ address: ChannelAddress, from shard: Int) -> Bool {
        if channels[address.app]?[address.name] != nil {
            channels[address.app]?[address.name]?.subscriptions[shard] += 1
            return false
        }
        var channel = Channel(subscriptions: Array(repeating: 0, count: shardCount))
        channel.subscriptions[shard] = 1
        channels[address.app, default: [:]][address.name] = channel
        return true
    }

    /// Counts one connection of `shard` less among the channel's subscribers.
    ///
    /// - Returns: Whether the channel is vacant now.
    @discardableResult
    public mutating func unsubscribe(_ address: ChannelAddress, from shard: Int) -> Bool {
        guard var channel = channels[address.app]?[address.name] else { return true }
        precondition(channel.subscriptions[shard] > 0, "more unsubscribed than subscribed")
        channel.subscriptions[shard] -= 1
        let isVacant = channel.subscriptionCount == 0
        channels[address.app]?[address.name] = isVacant ? nil : channel
        return isVacant
    }

    /// Calls `body` with each shard that has subscribers of the channel.
    public func forEachShard(subscribedTo address: ChannelAddress, _ body: (Int) -> Void) {
        guard let channel = channels[address.app]?[address.name] else { return }
        for (shard, count) in channel.subscriptions.enumerated() where count > 0 { body(shard) }
    }

    /// The number of connections that are subscribed to the channel; 0 when it is vacant.
    public func subscriptionCount(of address: ChannelAddress) -> Int {
        channels[address.app]?[address.name]?.subscriptionCount ?? 0
    }

    /// The occupied channels of `app` that begin with `prefix`, with their subscription counts.
    public func occupiedChannels(
        of app: AppID,
        prefix: String
    ) -> [(name: ChannelName, subscriptionCount: Int)] {
        (channels[app] ?? [:]).compactMap { name, channel in
            name.text.hasPrefix(prefix) ? (name, channel.subscriptionCount) : nil
        }
    }
}
