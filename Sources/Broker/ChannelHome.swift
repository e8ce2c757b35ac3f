public import PusherProtocol

/// The channels whose home is one shard: who has subscribers, and how many.
///
/// The home alone counts a channel's subscriptions and decides which shards an event goes to, so that each event
/// has one place in the channel's order. It holds no connections: those are each shard's own. Of a presence channel
/// it knows who is on it.
public struct ChannelHome: Sendable {
    private struct Channel {
        /// Subscribed connections by shard.
        var subscriptions: [Int]
        var subscriptionCount: Int { subscriptions.reduce(0, +) }
    }

    private let shardCount: Int
    private var channels: [AppID: [ChannelName: Channel]] = [:]
    /// Who is on the occupied presence channels; no other channel pays for that.
    private var rosters: [ChannelAddress: Roster] = [:]

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

    /// Counts a connection of `shard` among a presence channel's subscribers and enters it in the roster.
    ///
    /// - Parameters:
    ///   - address: The presence channel.
    ///   - shard: The shard of the connection.
    ///   - connection: The connection.
    ///   - member: The user of the connection.
    ///   - membersMax: How many members the channel may have.
    /// - Returns: What it is to the channel; one that is refused does not count as a subscriber.
    public mutating func subscribe(
        _ address: ChannelAddress,
        from shard: Int,
        _ connection: SocketID,
        as member: Member,
        membersMax: Int
    ) -> Roster.Arrival {
        guard membersMax > 0 else { return .refused }
        let arrival = rosters[address, default: Roster()]
            .join(connection, as: member, membersMax: membersMax)
        if arrival != .refused { subscribe(address, from: shard) }
        return arrival
    }

    /// Takes a connection of `shard` out of a presence channel, if it was let in.
    public mutating func unsubscribe(
        _ address: ChannelAddress,
        from shard: Int,
        _ connection: SocketID
    ) -> Roster.Departure {
        guard let entry = rosters.index(forKey: address) else { return .ofNobody }
        let departure = rosters.values[entry].leave(connection)
        if departure != .ofNobody, unsubscribe(address, from: shard) { rosters.remove(at: entry) }
        return departure
    }

    /// The members of a presence channel; none on any other.
    public func members(of address: ChannelAddress) -> [Member] { rosters[address]?.members ?? [] }

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
