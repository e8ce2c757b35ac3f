import Broker
import Net
import PusherProtocol

/// Unsubscribing: from a channel, and from all channels when a connection closes.
extension ChannelService {
    /// Unsubscribes a connection from a channel, here and at the home.
    func unsubscribe(_ connection: Connection, from channel: ChannelName) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        unsubscribe(connection.socketID, connection.stream, from: address)
    }

    /// Unsubscribes a closing connection from all its channels, at once or in portions.
    ///
    /// No event sent from now on reaches its stream.
    func unsubscribeAll(_ subscriptions: Subscriptions, of connection: Connection) {
        let (stream, app) = (connection.stream, connection.app.id)
        guard subscriptions.count > leaves.settings.atOnceMax, !context.reactor.hasShutDown else {
            subscriptions.forEachChannel {
                let address = ChannelAddress(app: app, name: $0)
                unsubscribe(connection.socketID, stream, from: address)
            }
            return
        }
        stream.detachFromGroups()
        leaves.append(subscriptions, stream, connection.socketID, app)
    }

    /// The number of closed connections that are still subscribed to channels.
    var leavingCount: Int { leaves.count }

    /// Unsubscribes closed connections from one portion of channels.
    func advanceLeaves() {
        guard !leaves.isEmpty else { return }
        for _ in 0..<leaves.settings.portionMax {
            guard let (address, stream, socketID) = leaves.popNext() else { return }
            unsubscribe(socketID, stream, from: address)
        }
    }

    private func unsubscribe(_ id: SocketID, _ stream: Stream, from address: ChannelAddress) {
        guard !throttle.withdraw(id, from: address.name) else { return }
        // A home drops a request that waits for the archive, so no answer follows.
        throttle.answered(id, on: address.name)
        let home = context.home(of: address)
        if let channel = table[address] {
            records.unsubscribed(id, from: address.name, at: channel.lastSerial)
            channel.remove(stream)
            channel.removeConfirming(id)
            if home == context.shard, !waits(unsubscriptionOf: id, of: context.shard, at: address) {
                removeSubscriber(id, from: channel, of: context.shard, at: address)
            }
            closeIfVacant(channel, at: address)
        } else if home == context.shard {
            // Before its grant the channel may not exist.
            _ = waits(unsubscriptionOf: id, of: context.shard, at: address)
        }
        if home != context.shard {
            context.links.send(.unsubscribe(address, shard: context.shard, id), to: home)
        }
    }

    /// At the home: removes a subscriber of another shard.
    func removeSubscriber(_ id: SocketID, of shard: Int, at address: ChannelAddress) {
        guard !waits(unsubscriptionOf: id, of: shard, at: address) else { return }
        guard let channel = table[address] else { return }
        removeSubscriber(id, from: channel, of: shard, at: address)
        closeIfVacant(channel, at: address)
    }

    /// Whether an unsubscription waits, or drops a subscription that has been waiting itself.
    private func waits(
        unsubscriptionOf id: SocketID,
        of shard: Int,
        at address: ChannelAddress
    ) -> Bool {
        if let cluster, cluster.channelHome.withdraw(id, from: address) { return true }
        return waitsForArchive(unsubscriptionOf: id, of: shard, at: address)
    }

    private func removeSubscriber(
        _ id: SocketID,
        from channel: Channel,
        of shard: Int,
        at address: ChannelAddress
    ) {
        let effects = channel.home.unsubscribe(
            id,
            from: shard,
            at: address,
            of: app(of: address),
            sharing: &state,
            now: context.milliseconds
        )
        context.notify(.subscriptions, on: address, .unsubscribed(id))
        perform(effects, on: channel, at: address)
        cluster?.channelHome.countChanged(at: address)
    }

    /// Removes a channel without subscribers.
    func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        guard channel.isVacant else { return }
        flushBacklog(of: channel, at: address)
        table.close(address)
    }
}
