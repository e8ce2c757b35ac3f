package import Broker
import Net
package import PusherProtocol

/// The end of a channel's stream at a backend's request: all kept messages are dropped, and another stream begins.
extension ChannelService {
    /// At the home: drops what a channel keeps, and notifies the clients that track it.
    ///
    /// - Returns: The position of the stream that begins; `nil` in an app without recovery.
    func purge(_ address: ChannelAddress) -> ChannelPosition? {
        guard let stream = openStream(at: address) else { return nil }
        state.purge(stream, of: address)
        return announceRestart(of: stream, at: address)
    }

    /// At the home: purges a stored channel after its held entries, and notifies its clients when the archive has
    /// recorded it.
    ///
    /// - Returns: Whether it does so; if not, the channel has to be purged at once.
    func waitsForArchive(purgeOf address: ChannelAddress, _ reply: QueryReply) -> Bool {
        guard let commits else { return false }
        if commits.mustWait(at: address) {
            commits.append(.purge(reply), on: address)
            return true
        }
        guard let stream = openStream(at: address), state.streams[stream].isStored,
            !commits.archive.isFailing
        else { return false }
        state.purge(stream, of: address)
        holdOpening(stream, at: address)
        commits.append(.restart(reply), on: address)
        return true
    }

    /// Performs a purge that has waited.
    func purge(_ address: ChannelAddress, _ reply: QueryReply) {
        if !waitsForArchive(purgeOf: address, reply) { answer(reply, purge(address), at: address) }
    }

    /// Notifies clients of the stream that a purge began, and answers the backend.
    func restart(_ address: ChannelAddress, _ reply: QueryReply) {
        let position = openStream(at: address).flatMap { announceRestart(of: $0, at: address) }
        answer(reply, position, at: address)
    }

    private func answer(
        _ reply: QueryReply,
        _ position: ChannelPosition?,
        at address: ChannelAddress
    ) {
        var count = count(of: address)
        count.position = position
        answerQuery([count], reply)
    }

    private func announceRestart(
        of stream: Int,
        at address: ChannelAddress
    ) -> ChannelPosition? {
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
