import Broker
import Net
import PusherProtocol
import Redis

// Announcements: from Redis to the subscribers of this node, in one order for all nodes.
extension ClusterHome {
    /// Receives what is published for a channel.
    func receive(_ announcement: ChannelAnnouncement, on remote: RemoteChannel) {
        if case .count(let count) = announcement.content { remote.totalSubscriptions = count }
        // Messages published before the node knows the channel's position are part of what it will read. Messages read
        // after the list of members do not describe members.
        guard remote.isCurrent || remote.isReading && announcement.content.isOfMembers else {
            if context.faults.contains(.deliversEarly) { remote.early.append(announcement) }
            return
        }
        switch announcement.content {
        case .event(let envelope), .clientEvent(let envelope):
            receive(envelope, announcement, on: remote)
        case .count(let count):
            context.notify(.subscriptionCounts, on: remote.address, .subscriptionCount(count))
            tellTotal(remote)
        case .stream(let id, let reason): begin(id, reason, on: remote)
        case .memberAdded(let user, let info):
            memberCame(Member(id: UserID(user), info: info.isEmpty ? nil : info), remote)
        case .memberRemoved(let user): memberLeft(UserID(user), remote)
        }
    }

    /// Injected fault: delivers messages that are already part of what subscriptions have begun with.
    func deliverEarly(on remote: RemoteChannel) {
        for announcement in exchange(&remote.early, with: []) {
            guard let envelope = announcement.content.envelope else { continue }
            deliver(envelope, announcement, on: remote)
        }
    }

    private func receive(
        _ envelope: [UInt8],
        _ announcement: ChannelAnnouncement,
        on remote: RemoteChannel
    ) {
        let serial = announcement.serial
        if serial != 0 {
            let last = remote.position?.serial ?? 0
            guard serial == last + 1, remote.position != nil else {
                // Redis has the messages in between; earlier ones are known.
                if serial > last || remote.position == nil { lookForMissed(on: remote) }
                return
            }
        }
        deliver(envelope, announcement, on: remote)
    }

    /// Forwards a message that follows the last one.
    func deliver(
        _ envelope: [UInt8],
        _ announcement: ChannelAnnouncement,
        on remote: RemoteChannel
    ) {
        let address = remote.address
        let channel = channels.table[address]
        let frame = EventFrame(envelope: envelope, serial: announcement.serial)
        let except = announcement.except.flatMap { SocketID($0) }
        if announcement.serial != 0 {
            remote.position?.serial = announcement.serial
            let stream = channel?.home.stream ?? channels.state.streams.index(of: address)
            if let stream { channels.keep(frame, on: address, except: except, in: stream) }
        }
        guard let channel else { return }
        channels.distribute(frame, on: channel, at: address, except: except)
    }

    /// Sends a notice to all subscribers of this node, in order with the channel's events.
    ///
    /// Membership notices may wait for others on a large channel.
    func announce(_ notice: ServerMessage, on remote: RemoteChannel, isOfMembers: Bool = false) {
        guard let channel = channels.table[remote.address] else { return }
        let isLarge =
            isOfMembers
            && remote.members.members.count > context.settings.smallPresenceChannelMax
        let app = isLarge ? context.registry.apps[remote.address.app] : nil
        let delayMax = UInt16(clamping: app?.features.presenceNoticeDelay ?? 0)
        let frame = EventFrame(notice, delayMax: delayMax)
        channels.distribute(frame, on: channel, at: remote.address, except: nil)
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
        case .epoch where hasStream(remote):
            // The former stream is sealed by an epoch that this node does not know: the server has followed another one
            // in between.
            store(of: remote).connection?.close()
        case .first, .epoch, .full:
            setPosition(start, of: remote)
            // Sealed, or full, with all of its messages received: nothing is missing between the two.
            if former != nil { restart(remote, .recovered(replay: 0)) }
        case .purge:
            setPosition(start, of: remote)
            if former != nil { restart(remote, .gap(RecoveryGap(.unknownStream))) }
        }
    }

    /// Notifies the clients that track a channel that it continues in another stream.
    func restart(_ remote: RemoteChannel, _ continuity: SubscriptionStart.Continuity) {
        guard let start = start(of: remote, continuity) else { return }
        let (address, channel) = (remote.address, channels.table[remote.address])
        guard let channel else { return }
        let members = remote.members.members
        for shard in channel.home.subscribers.otherShards {
            context.links.send(.restarted(address, start, members: members), to: shard)
        }
        channels.restart(address, at: start, members: members)
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
}
