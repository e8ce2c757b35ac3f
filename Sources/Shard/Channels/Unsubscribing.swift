package import Broker
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
        // Before its grant the channel may not exist.
        let channel = table[address]
        if let channel {
            records.unsubscribed(id, from: address.name, at: channel.lastSerial)
            channel.remove(stream)
            channel.removeConfirming(id)
        }
        if home == context.shard {
            authority.unsubscribe(id, of: home, from: channel, at: address)
        } else {
            context.links.send(.unsubscribe(address, shard: context.shard, id), to: home)
        }
        if let channel { closeIfVacant(channel, at: address) }
    }

    /// At the home: ends the subscription of a connection of any shard.
    func removeSubscriber(_ id: SocketID, of shard: Int, at address: ChannelAddress) {
        let channel = table[address]
        authority.unsubscribe(id, of: shard, from: channel, at: address)
        if let channel { closeIfVacant(channel, at: address) }
    }

    /// Removes a channel without subscribers.
    package func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        guard channel.isVacant else { return }
        flushBacklog(of: channel, at: address)
        table.close(address)
    }
}
