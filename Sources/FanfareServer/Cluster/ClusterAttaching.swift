import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Attaching the node to a channel, and what Redis knows of the channel then.
extension ClusterHome {
    /// The rules of a channel, for the scripts.
    func rules(of remote: RemoteChannel) -> ChannelRules { rules(of: remote.address) }

    /// The rules of a channel, for the scripts.
    func rules(of address: ChannelAddress) -> ChannelRules {
        let app = context.registry.apps[address.app]
        return ChannelRules(
            isRecoverable: rule(of: address, app) != nil,
            announcesCount: ChannelHome.announcesCounts(of: address, app),
            webhooks: reportedChanges(of: address)
        )
    }

    /// The number of subscriptions of the node's connections, the waiting ones included.
    func subscriptionCount(of remote: RemoteChannel) -> Int {
        let replaying = replays.isEmpty ? 0 : replays.values.count { $0.0 === remote }
        return (channels.table[remote.address]?.home.subscribers.total ?? 0) + remote.waiting.count
            + replaying
            + (remote.joining.isEmpty ? 0 : remote.joining.values.reduce(0) { $0 + $1.count })
    }

    /// Attaches the node to a channel whose subscriptions wait, unless a call is on its way that serves them too.
    func attach(_ remote: RemoteChannel) {
        // A channel that is behind finds out first what it has missed.
        guard store(of: remote).isOpen, !remote.isBehind, remote.attaching == nil else { return }
        var needed: PartitionCalls.Interests = []
        for subscription in remote.waiting {
            needed.formUnion(interests(of: subscription, on: remote))
        }
        sendAttach(remote, needed)
    }

    /// Attaches the node to the channels of a store for which Redis has refused it, or a subscription to them.
    func attachRefused(in store: ClusterStore) {
        for remote in remotes.values
        where remote.attaching == nil && !(remote.isCurrent && remote.waiting.isEmpty)
            && self.store(of: remote) === store
        {
            if remote.isBehind {
                if !remote.isReading { store.behind.append(remote) }
            } else if !remote.waiting.isEmpty {
                attach(remote)
            }
        }
        catchUpNext(in: store)
    }

    func sendAttach(_ remote: RemoteChannel, _ interests: PartitionCalls.Interests) {
        if !remote.isSubscribed {
            remote.isSubscribed = subscribe(to: [remote.topic], in: remote.partition)
        }
        let count = max(1, subscriptionCount(of: remote))
        let call = calls(of: remote).attach(
            to: remote.channel,
            count: count,
            interests,
            rules(of: remote)
        )
        let purpose = Call.attach(remote, interests, count: count)
        if send(call, to: remote.partition, as: purpose) { remote.attaching = interests }
        (remote.vacantSince, remote.isDetachRefused) = (nil, false)
    }

    func attached(
        _ reply: borrowing RESPView,
        _ remote: RemoteChannel,
        _ interests: PartitionCalls.Interests,
        count: Int
    ) {
        remote.attaching = nil
        guard let attachment = ChannelAttachment(reply) else {
            if remote.isBehind { caughtUp(remote) }
            guard RedisError(reply)?.code == .fenced else {
                return countChanged(at: remote.address)
            }
            // Redis has refused the node's users, too.
            remote.hasJoinedAgain = false
            store(of: remote).registerAgain(remote.partition)
            return sendAttach(remote, interests)
        }
        remote.countedSubscriptions = count
        if attachment.wasVacant { context.notify(.occupancy, on: remote.address, .occupied) }
        if interests.contains(.cachedEvent) {
            remote.cached = attachment.cachedEvent.flatMap { cachedEvent($0, remote, attachment) }
        }
        if remote.isCurrent, let newest = attachment.newest, newest != remote.position,
            interests.contains(.stream) || hasStream(remote)
        {
            if newest.serial == 0, !hasStream(remote) {
                // The call has begun it.
                begin(newest.stream, .epoch, on: remote)
            } else {
                // Everything that is published ahead of the reply was received.
                counts.divergences += 1
                remote.fellBehind(at: partitions[remote.partition].counter)
            }
        }
        if remote.isBehind {
            if remote.address.name.kind.isPresence {
                guard remote.hasJoinedAgain, interests.contains(.members) else {
                    joinAgain(remote)
                    // Read behind their arrival.
                    return sendAttach(remote, interests.union(.members))
                }
                replaceMembers(remote, by: attachment)
            }
            catchUp(remote, attachment)
        } else if !remote.isCurrent {
            if interests.contains(.members) { replaceMembers(remote, by: attachment) }
            setPosition(attachment.newest, of: remote)
            remote.becameCurrent(since: partitions[remote.partition].epoch?.since ?? 0)
        }
        remote.totalSubscriptions = Int(attachment.subscriptionCount)
        if remote.isCurrent { grantWaiting(on: remote, interests) }
    }

    private func cachedEvent(
        _ bytes: [UInt8],
        _ remote: RemoteChannel,
        _ attachment: ChannelAttachment
    ) -> RemoteChannel.CachedEvent? {
        guard let announcement = ChannelAnnouncement(bytes),
            case .event(let envelope) = announcement.content
        else { return nil }
        // The script has cached it in the newest stream, or in one that has ended.
        let position = attachment.newest.flatMap { newest in
            announcement.serial == 0
                ? nil : StreamPosition(stream: newest.stream, serial: announcement.serial)
        }
        return RemoteChannel.CachedEvent(frame: EventFrame(envelope: envelope), position: position)
    }

    /// Follows the channel's stream again, if it was forgotten while the channel was vacant.
    func keepStream(of remote: RemoteChannel) {
        guard let position = remote.position,
            channels.state.streams.index(of: remote.address) == nil
        else { return }
        setPosition(position, of: remote)
    }

    /// Continues the channel's stream at a position.
    func setPosition(_ position: StreamPosition?, of remote: RemoteChannel) {
        let address = remote.address
        if position?.stream != remote.position?.stream {
            store(of: remote).streamChanged(of: address)
        }
        remote.position = position
        let channel = channels.table[address]
        guard let position, let app = context.registry.apps[address.app], app.recovery.isEnabled,
            let known = ChannelPosition(position)
        else {
            channel?.home.stream = nil
            return channels.state.unfollow(address)
        }
        let isVacant = channel?.home.isVacant ?? true
        let stream = channels.state.follow(
            address,
            at: known,
            app.recovery,
            isVacant: isVacant,
            at: context.milliseconds
        )
        if !isVacant { channel?.home.stream = stream }
    }
}
