import Broker
import PusherProtocol

/// What can be asked of the homes of channels.
enum Question: Sendable {
    /// The occupied channels of an app that begin with a prefix.
    case occupiedChannels(AppID, prefix: String)
    /// The counts of these channels, vacant ones included.
    case counts([ChannelAddress])
    /// Who is on this presence channel.
    case users(ChannelAddress)
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
}

extension ChannelHome {
    /// What this home has to say to a question.
    func answer(_ question: Question) -> [ChannelCount] {
        switch question {
        case .occupiedChannels(let app, let prefix):
            return occupiedChannels(of: app, prefix: prefix).map { name, subscriptionCount in
                let address = ChannelAddress(app: app, name: name)
                return count(address, subscriptionCount: subscriptionCount)
            }
        case .counts(let addresses):
            return addresses.map { count($0, subscriptionCount: subscriptionCount(of: $0)) }
        case .users(let address):
            var answer = count(address, subscriptionCount: subscriptionCount(of: address))
            answer.users = members(of: address).map(\.id)
            return [answer]
        }
    }

    private func count(_ address: ChannelAddress, subscriptionCount: Int) -> ChannelCount {
        let isPresence = address.name.kind.isPresence
        return ChannelCount(
            name: address.name,
            subscriptionCount: subscriptionCount,
            userCount: isPresence ? members(of: address).count : 0
        )
    }
}
