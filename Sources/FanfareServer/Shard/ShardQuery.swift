import Broker
import PusherProtocol

/// What can be asked of the homes of channels.
enum ShardQuery: Sendable {
    /// The counts of these channels, vacant ones included.
    case counts([ChannelAddress])
    /// Who is on this presence channel.
    case users(ChannelAddress)
    /// The counts of this cache channel, and what it holds.
    case cached(ChannelAddress)
}

/// What a home says of one channel.
struct ChannelCount: Sendable {
    var name: ChannelName
    /// The connections that are subscribed to it.
    var subscriptionCount: Int
    /// The users on it, if it is a presence channel.
    var userCount: Int
    /// Who they are, if that was the question.
    var users: [UserID] = []
    /// What the channel holds, if that was the question.
    var cache: ChannelAttributes.Cache?
}

extension ChannelTable {
    /// What the channels whose home is this shard have to say to a question.
    func answer(_ question: ShardQuery) -> [ChannelCount] {
        switch question {
        case .counts(let addresses):
            addresses.map { count($0.name, self[$0]?.attendance) }
        case .cached(let address):
            [count(address.name, self[address]?.attendance)]
        case .users(let address):
            [count(address.name, self[address]?.attendance, listsUsers: true)]
        }
    }

    private func count(
        _ name: ChannelName,
        _ attendance: SubscriberCounts?,
        listsUsers: Bool = false
    ) -> ChannelCount {
        let members = attendance?.members ?? []
        return ChannelCount(
            name: name,
            subscriptionCount: attendance?.count ?? 0,
            userCount: members.count,
            users: listsUsers ? members.map(\.id) : []
        )
    }
}
