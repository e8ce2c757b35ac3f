import Broker
import PusherProtocol

/// How an event of a client comes to the others on its channel: through the channel's home, like every event.
extension ShardCore {
    /// Hands an event that the session has accepted to the channel's home.
    func publish(_ event: ClientEvent, on channel: ChannelName, of connection: Connection) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        let home = address.home(among: shardCount)
        let sender = connection.socketID
        guard home != links.shard else { return accept(event, of: sender, on: address) }
        links.send(.clientEvent(address, event, sender: sender), to: home)
    }

    /// Puts a client event in the order of its channel, with the member who sends it on a presence channel, as soon as the
    /// subscribers have room for it.
    func accept(_ event: ClientEvent, of sender: SocketID, on address: ChannelAddress) {
        // The sender is on the channel: the same line has brought its subscription, and would bring its end.
        guard let channel = channels[address] else { return }
        var user: UserID?
        if address.name.kind.isPresence {
            user = channel.attendance.user(of: sender)
            guard user != nil else { return }
        }
        if let backlog = channel.backlog, !backlog.hasRoom {
            return backlog.append(.clientEvent(event, sender: sender, user: user))
        }
        sequence(event, of: sender, user: user, on: channel, at: address)
    }

    /// Puts a client event in the order of its channel and sends it where the channel has subscribers.
    func sequence(
        _ event: ClientEvent,
        of sender: SocketID,
        user: UserID?,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        tell(.clientEvent(event, sender: sender, userID: user), on: address)
        publishedCount &+= 1
        let frame = EventFrame(event, of: user, channel: address.name)
        relay(frame, on: channel, at: address, except: sender)
    }
}
