import Broker
import PusherProtocol

/// What can be asked of the homes of channels.
enum ShardQuery: Sendable {
    /// The counts of these channels, vacant ones included.
    case counts([ChannelAddress])
    /// The users of this presence channel.
    case users(ChannelAddress)
    /// The counts of this cache channel, and its cached event.
    case cached(ChannelAddress)
}

/// What a home answers about one channel.
struct ChannelCount: Sendable {
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

extension ChannelService {
    /// Answers a query of channels whose home is this shard.
    func answer(_ query: ShardQuery) -> [ChannelCount] {
        switch query {
        case .counts(let addresses): return addresses.map { count(of: $0) }
        case .users(let address):
            var count = count(of: address)
            count.users = table[address]?.home.presence.members.map(\.id) ?? []
            return [count]
        case .cached(let address):
            var count = count(of: address)
            count.cache = cacheAttribute(of: address)
            return [count]
        }
    }

    private func count(of address: ChannelAddress) -> ChannelCount {
        let home = table[address]?.home
        return ChannelCount(
            name: address.name,
            subscriptionCount: home?.subscribers.total ?? 0,
            userCount: home?.presence.members.count ?? 0
        )
    }

    /// The cached event of a channel, as backends are told about it.
    private func cacheAttribute(of address: ChannelAddress) -> ChannelAttributes.Cache {
        let now = context.milliseconds
        guard let entry = state.cachedEvent(of: address, at: now) else { return .empty }
        return .event(
            dataToken: entry.publication.dataToken,
            secondsLeft: Int((entry.expiry - now + 999) / 1_000)
        )
    }
}
