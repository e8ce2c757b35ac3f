package import Broker
import Net
package import PusherProtocol

/// The streams of channels: their beginning at the home, and the change to another one, of which the clients are
/// notified.
extension ChannelService {
    /// At the home: the index of the channel's stream, which begins here if there is none; `nil` in an app without
    /// recovery.
    func openStream(at address: ChannelAddress) -> Int? {
        let (app, now) = (context.registry.apps[address.app], context.milliseconds)
        defer { streamMayHaveBegun(at: address) }
        guard let channel = table[address], !channel.home.isVacant else {
            return state.openStream(address, app, isVacant: true, at: now)
        }
        channel.home.openStream(address, app, sharing: &state, at: now)
        return channel.home.stream
    }

    /// Counts that a stream was forgotten for a new one, and expires the new one's messages.
    func streamMayHaveBegun(at address: ChannelAddress) {
        if let limit = state.takeInsertionLimit() { context.limitMet(limit, of: address.app) }
        startTimers()
    }

    /// At the home: keeps a numbered message, which one connection does not get.
    package func keep(
        _ envelope: Envelope,
        on address: ChannelAddress,
        except: SocketID?,
        in stream: Int
    ) {
        let now = context.milliseconds
        if let limit = state.keep(envelope, except: except, in: stream, at: now) {
            context.limitMet(limit, of: address.app)
        }
    }

    // MARK: - Another stream

    /// At the home, at a backend's request: drops what a channel keeps, and notifies the clients that track it; returns
    /// the channel with the position of the stream that begins.
    func purge(_ address: ChannelAddress) -> ChannelCount {
        if let stream = openStream(at: address) { state.purge(stream, of: address) }
        return restarted(address)
    }

    /// At the home: notifies the clients that a channel's present stream has begun; returns the channel with the
    /// position, which is `nil` in an app without recovery.
    func restarted(_ address: ChannelAddress) -> ChannelCount {
        var count = table.count(of: address)
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

    /// Notifies this shard's subscribers of a channel that messages are missing.
    ///
    /// Clients that track it continue from `start`, all others reconnect. `start` is `nil` to close all.
    package func lose(_ address: ChannelAddress, _ start: SubscriptionStart?, members: [Member]) {
        guard let channel = table[address] else { return }
        if let start { restart(address, at: start, members: members) }
        for connection in channel.connections {
            let isTold = connection.tracks(channel.name) || connection.isKept(channel.name)
            guard start == nil || !isTold else { continue }
            // It gets no messages from after the gap.
            channel.remove(connection.stream)
            reconnects.append(connection.socketID)
        }
    }
}
