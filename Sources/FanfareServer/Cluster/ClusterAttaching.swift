import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis

// Attaching the node to a channel, and the state of the channel in Redis at that time.
extension ClusterHome {
    /// The rules of a channel, for the scripts.
    func rules(of remote: RemoteChannel) -> ChannelRules { rules(of: remote.address) }

    /// The rules of a channel, for the scripts.
    func rules(of address: ChannelAddress) -> ChannelRules {
        let app = context.registry.apps[address.app]
        return ChannelRules(
            isRecoverable: rule(of: address, app) != nil,
            announcesCount: ChannelHome.announcesCounts(of: address, app),
            webhooks: reportedChanges(of: address),
            positionsMax: positionsMax(of: app, in: partition(of: address))
        )
    }

    /// The number of subscriptions of the node's connections, including the waiting ones.
    func subscriptionCount(of remote: RemoteChannel) -> Int {
        (channels.table[remote.address]?.home.subscribers.total ?? 0)
            + remote.waiting.count + remote.joining.count + remote.replaying.count
    }

    /// Attaches the node to a channel whose subscriptions wait, unless a sent call will serve them too.
    func attach(_ remote: RemoteChannel) {
        // A channel that is behind catches up first.
        guard store(of: remote).isOpen, !remote.isBehind, remote.attaching == nil,
            !remote.isInGrants
        else { return }
        changeAttachment(of: remote)
    }

    /// Attaches the node to a channel, or detaches it: now, or in a later turn if Redis has the maximum number of such
    /// calls.
    ///
    /// A client may subscribe to thousands of channels at once, and leave them. Events of others must not wait for all
    /// of these calls.
    func changeAttachment(of remote: RemoteChannel) {
        let store = store(of: remote)
        guard store.attachmentQueue.isEmpty, store.mayChangeAttachment else {
            guard !remote.isQueued else { return }
            remote.isQueued = true
            return store.attachmentQueue.append(remote)
        }
        sendAttachmentChange(of: remote)
    }

    /// Sends the changes of the next channels of the queue.
    func changeNextAttachments(in store: ClusterStore) {
        while store.isOpen, store.mayChangeAttachment, let remote = store.attachmentQueue.first {
            store.attachmentQueue.removeFirst()
            remote.isQueued = false
            guard remotes[remote.address] === remote, self.store(of: remote) === store,
                !remote.isBehind, remote.attaching == nil
            else { continue }
            sendAttachmentChange(of: remote)
        }
    }

    /// Attaches the node to a channel, or detaches it, according to its present subscriptions.
    private func sendAttachmentChange(of remote: RemoteChannel) {
        if subscriptionCount(of: remote) == 0 {
            endAttachment(to: remote)
        } else if !remote.waiting.isEmpty {
            sendAttach(remote, interestsOfWaiting(on: remote))
        }
    }

    /// What the next granted subscriptions need to know about their channel.
    func interestsOfWaiting(on remote: RemoteChannel) -> PartitionCalls.Interests {
        remote.waiting.first(Self.grantedMax)
            .reduce(into: []) { $0.formUnion(interests(of: $1, on: remote)) }
    }

    /// Called when Redis has refused the node on a channel, or a subscription to it.
    func attachLater(_ remote: RemoteChannel) { store(of: remote).refused.insert(remote.partition) }

    /// Attaches the node to the channels of a store for which Redis has refused it, or a subscription to them.
    func attachRefused(in store: ClusterStore) {
        // Otherwise some have not been visited yet.
        guard store.behind.isEmpty, store.unvisited.isEmpty else { return }
        store.unvisited = exchange(&store.refused, with: []).sorted()
        catchUpNext(in: store)
    }

    func sendAttach(_ remote: RemoteChannel, _ interests: PartitionCalls.Interests) {
        sendAttach([(remote, interests)])
    }

    /// Attaches the node to channels of one partition, at most ``ClusterScripts/messageCountMax``.
    func sendAttach(_ channels: [(remote: RemoteChannel, interests: PartitionCalls.Interests)]) {
        guard let partition = channels.first?.remote.partition else { return }
        let unsubscribed = channels.map(\.remote).filter { !$0.isSubscribed }
        if !unsubscribed.isEmpty, subscribe(to: unsubscribed.map(\.topic), in: partition) {
            for remote in unsubscribed { remote.isSubscribed = true }
        }
        let requests = channels.map { remote, interests in
            let count = max(1, subscriptionCount(of: remote))
            return AttachRequest(remote: remote, interests: interests, count: count)
        }
        let call = partitions[partition].calls.attach(
            to: requests.map {
                .init(to: $0.remote.channel, count: $0.count, $0.interests, rules(of: $0.remote))
            }
        )
        let isSent = send(call, to: partition, as: .attach(requests))
        for (remote, interests) in channels {
            if isSent { remote.attaching = interests }
            (remote.vacantSince, remote.isDetachRefused) = (nil, false)
        }
    }

    func attached(
        _ reply: borrowing RESPView,
        _ requests: [AttachRequest],
        on store: ClusterStore
    ) {
        let attachments = ChannelAttachment.all(reply)
        guard let attachments, attachments.count == requests.count else {
            let error = RedisError(reply)
            if error == nil { refused("the reply of attach.lua", by: store) }
            return refused(requests, error, by: store)
        }
        for (request, attachment) in zip(requests, attachments) {
            // What one channel has missed may end the connection, or move the partition away from it.
            guard store.isOpen, self.store(of: request.remote) === store else { return }
            attached(attachment, request)
        }
    }

    private func refused(
        _ requests: [AttachRequest],
        _ error: RedisError?,
        by store: ClusterStore
    ) {
        for request in requests { request.remote.attaching = nil }
        guard error?.code == .fenced, let partition = requests.first?.remote.partition else {
            for request in requests {
                attachLater(request.remote)
                countChanged(at: request.remote.address)
            }
            for request in requests { caughtUp(request.remote) }
            return
        }
        for request in requests { caughtUp(request.remote) }
        // Redis has refused the node's users, too.
        for request in requests { request.remote.hasJoinedAgain = false }
        takenForDead(in: partition)
        let again = requests.filter { $0.remote.attaching == nil }
        sendAttach(again.map { ($0.remote, $0.interests) })
    }

    private func attached(_ attachment: ChannelAttachment, _ request: AttachRequest) {
        let (remote, interests) = (request.remote, request.interests)
        remote.attaching = nil
        setCountedSubscriptions(request.count, of: remote)
        if attachment.wasVacant { context.notify(.occupancy, on: remote.address, .occupied) }
        if interests.contains(.cachedEvent) {
            remote.cached = attachment.cachedEvent.flatMap { cachedEvent($0, remote, attachment) }
        }
        if remote.isCurrent, let newest = attachment.newest, newest != remote.position,
            interests.contains(.stream) || hasStream(remote)
        {
            if newest.serial == 0, !hasStream(remote) {
                // The call has begun the stream.
                begin(newest.stream, .epoch, on: remote)
            } else {
                // Everything published before the reply was received.
                counts.divergences += 1
                remote.fellBehind(at: partitions[remote.partition].counter)
            }
        }
        if remote.isBehind {
            if remote.address.name.kind.isPresence {
                guard remote.hasJoinedAgain, interests.contains(.members) else {
                    joinAgain(remote)
                    // Read after their arrival.
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
        guard remote.isCurrent else { return }
        grantWaiting(on: remote, interests)
        if remote.catchingUpCost > 0 { caughtUp(remote) }
    }

    private func cachedEvent(
        _ bytes: [UInt8],
        _ remote: RemoteChannel,
        _ attachment: ChannelAttachment
    ) -> RemoteChannel.CachedEvent? {
        guard let announcement = ChannelAnnouncement(bytes),
            case .event(let envelope) = announcement.content
        else {
            refused("a cached event", by: store(of: remote))
            return nil
        }
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
        if let stream = position?.stream {
            let newest = partitions[remote.partition].newestStream
            partitions[remote.partition].newestStream = max(newest, stream)
        }
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
