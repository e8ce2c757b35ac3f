package import Broker
import Net
package import PusherProtocol

/// The end of a channel's stream at a backend's request: all kept messages are dropped, and another stream begins.
extension ChannelService {
    /// At the home: drops what a channel keeps, and notifies the clients that track it; returns the channel with the
    /// position of the stream that begins.
    func purge(_ address: ChannelAddress) -> ChannelCount {
        if let stream = openStream(at: address) { state.purge(stream, of: address) }
        return restarted(address)
    }

    /// At the home: notifies the clients that a channel's present stream has begun; returns the channel with the
    /// position, which is `nil` in an app without recovery.
    func restarted(_ address: ChannelAddress) -> ChannelCount {
        var count = count(of: address)
        count.position = openStream(at: address).flatMap { announceRestart(of: $0, at: address) }
        return count
    }

    private func announceRestart(of stream: Int, at address: ChannelAddress) -> ChannelPosition? {
        guard let app = context.registry.apps[address.app] else { return nil }
        let position = state.streams[stream].position
        guard let channel = table[address] else { return position }
        let start = SubscriptionStart(
            app.issuedPosition(position, on: address.name),
            .gap(RecoveryGap(.unknownStream))
        )
        let members = channel.home.presence.members
        // Over the links of the channel's events: after those of the former stream, before those of the new one.
        for shard in channel.home.subscribers.otherShards {
            context.links.send(.restarted(address, start, members: members), to: shard)
        }
        restart(channel, at: start, members: members)
        return position
    }

    /// Notifies this shard's subscribers that their channel continues in another stream.
    ///
    /// All are notified in one turn, whatever their number, because each gets the acknowledgement between the messages
    /// of the two streams. In portions, the channel's messages, grants and departures would have to wait for the last
    /// one.
    package func restart(_ address: ChannelAddress, at start: SubscriptionStart, members: [Member])
    {
        if let channel = table[address] { restart(channel, at: start, members: members) }
    }

    private func restart(_ channel: Channel, at start: SubscriptionStart, members: [Member]) {
        defer { channel.forgetSerials() }
        for connection in channel.connections {
            let (isTracked, isKept) = (
                connection.tracks(channel.name), connection.isKept(channel.name)
            )
            guard isTracked || isKept else { continue }
            // Leaving writes the frames of the former stream that wait in the group.
            channel.remove(connection.stream)
            if isTracked {
                connection.restarted(channel.name, at: start, members: members)
            } else {
                connection.restartKept(channel.name, at: start)
            }
            records.restarted(connection, on: channel, at: start)
            channel.add(connection)
        }
    }
}
