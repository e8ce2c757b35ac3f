import Broker
import PusherProtocol
import Redis
import Shard

/// Delivers what Redis decides about channels to this node's subscribers, in order.
final class LocalDelivery {
    private let remotes: RemoteChannels
    // The service owns this object.
    private unowned let service: ChannelService
    private let context: ShardContext

    init(_ remotes: RemoteChannels, _ service: ChannelService) {
        (self.remotes, self.service, context) = (remotes, service, service.context)
    }

    /// Forwards a message that follows the last one.
    func deliver(
        _ text: [UInt8],
        _ announcement: ChannelAnnouncement,
        on remote: RemoteChannel
    ) {
        let address = remote.address
        let channel = service.table[address]
        let message = ChannelMessage(text: text, serial: announcement.serial)
        let except = announcement.except.flatMap { SocketID($0) }
        if announcement.serial != 0 {
            remote.position?.serial = announcement.serial
            let stream = channel?.home.stream ?? service.state.streams.index(of: address)
            if let stream {
                service.keep(message.envelope, on: address, except: except, in: stream)
            }
        }
        guard let channel else { return }
        service.distribute(message, on: channel, at: address, except: except)
    }

    /// Sends a notice to all subscribers of this node, in order with the channel's events.
    ///
    /// Membership notices may wait for others on a large channel.
    func announce(_ notice: ServerMessage, on remote: RemoteChannel, isOfMembers: Bool = false) {
        guard let channel = service.table[remote.address] else { return }
        let isLarge =
            isOfMembers
            && remote.members.members.count > context.settings.smallPresenceChannelMax
        let app = isLarge ? context.registry.apps[remote.address.app] : nil
        let delayMax = UInt16(clamping: app?.features.presenceNoticeDelay ?? 0)
        let message = ChannelMessage(notice, delayMax: delayMax)
        service.distribute(message, on: channel, at: remote.address, except: nil)
    }

    /// Continues a channel in a stream that begins.
    func begin(
        _ id: UInt64,
        _ reason: ChannelAnnouncement.Beginning,
        on remote: RemoteChannel
    ) {
        let former = remote.position
        // The reply to the call that has begun it may precede its announcement.
        guard former?.stream != id else { return }
        let start = StreamPosition(stream: id, serial: 0)
        switch reason {
        case .epoch where remotes.hasStream(remote):
            // The former stream is sealed by an epoch that this node does not know: the server has followed another one
            // in between.
            remotes.store(of: remote).connection?.close()
        case .first, .epoch, .full:
            remotes.setPosition(start, of: remote)
            // Sealed, or full, with all of its messages received: nothing is missing between the two.
            if former != nil { restart(remote, .recovered(replay: 0)) }
        case .purge:
            remotes.setPosition(start, of: remote)
            if former != nil { restart(remote, .gap(RecoveryGap(.unknownStream))) }
        }
    }

    /// Notifies the clients that track a channel that it continues in another stream.
    func restart(_ remote: RemoteChannel, _ continuity: SubscriptionStart.Continuity) {
        guard let start = start(of: remote, continuity) else { return }
        let (address, channel) = (remote.address, service.table[remote.address])
        guard let channel else { return }
        let members = remote.members.members
        for shard in channel.home.subscribers.otherShards {
            context.links.send(.restarted(address, start, members: members), to: shard)
        }
        service.restart(address, at: start, members: members)
    }

    /// The position of the clients of a channel, as reported to them.
    func start(
        of remote: RemoteChannel,
        _ continuity: SubscriptionStart.Continuity
    ) -> SubscriptionStart? {
        guard let app = context.registry.apps[remote.address.app],
            let position = remote.position.flatMap({ ChannelPosition($0) })
        else { return nil }
        let issued = app.issuedPosition(position, on: remote.address.name)
        return SubscriptionStart(issued, continuity)
    }

    /// Notifies the subscribers of a channel that messages are missing.
    ///
    /// - Parameters:
    ///   - remote: The channel.
    ///   - start: Where those that track it continue; `nil` to close all.
    func endSubscriptions(to remote: RemoteChannel, _ start: SubscriptionStart?) {
        let address = remote.address
        guard let channel = service.table[address] else { return }
        for shard in channel.home.subscribers.otherShards {
            let members = remote.members.members
            context.links.send(.lost(address, start, members: members), to: shard)
        }
        service.lose(address, start, members: remote.members.members)
    }

    /// Closes the client of a subscription that cannot be granted.
    func close(_ request: SubscriptionRequest) {
        guard request.shard != context.shard else {
            return service.reconnects.append(request.socketID)
        }
        context.links.send(.reconnect(request.socketID), to: request.shard)
    }

    /// Closes a client, so that it reconnects to another node.
    func close(_ id: SocketID) {
        close(SubscriptionRequest(shard: context.shard(of: id), socketID: id, number: 0))
    }
}
