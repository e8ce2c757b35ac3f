import Broker
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

// Attaching the node to a channel, and the state of the channel in Redis at that time.
extension SharedChannels {
    /// Attaches the node to a channel whose subscriptions wait, unless a sent call will serve them too.
    func attach(_ remote: RemoteChannel) {
        // A channel that is behind catches up first.
        guard remotes.store(of: remote).isOpen, !remote.isBehind, remote.attaching == nil,
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
        let store = remotes.store(of: remote)
        guard store.channels.attachments.isEmpty, store.mayChangeAttachment else {
            guard !remote.isQueued else { return }
            remote.isQueued = true
            return store.channels.attachments.append(remote)
        }
        sendAttachmentChange(of: remote)
    }

    /// Sends the changes of the next channels of the queue.
    func changeNextAttachments(in store: ClusterStore) {
        while store.isOpen, store.mayChangeAttachment, let remote = store.channels.attachments.first
        {
            store.channels.attachments.removeFirst()
            remote.isQueued = false
            guard remotes[remote.address] === remote, remotes.store(of: remote) === store,
                !remote.isBehind, remote.attaching == nil
            else { continue }
            sendAttachmentChange(of: remote)
        }
    }

    /// Attaches the node to a channel, or detaches it, according to its present subscriptions.
    private func sendAttachmentChange(of remote: RemoteChannel) {
        if remotes.subscriptionCount(of: remote) == 0 {
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
    func attachLater(_ remote: RemoteChannel) {
        remotes.store(of: remote).channels.refused.insert(remote.partition)
    }

    /// Attaches the node to the channels of a store for which Redis has refused it, or a subscription to them.
    func attachRefused(in store: ClusterStore) {
        // Otherwise some have not been visited yet.
        guard store.channels.behind.isEmpty, store.channels.unvisited.isEmpty else { return }
        store.channels.unvisited = exchange(&store.channels.refused, with: []).sorted()
        catchUpNext(in: store)
    }

    func sendAttach(_ remote: RemoteChannel, _ interests: PartitionCalls.Interests) {
        sendAttach([(remote, interests)])
    }

    /// Attaches the node to channels of one partition, at most ``ClusterScripts/messageCountMax``.
    func sendAttach(_ channels: [(remote: RemoteChannel, interests: PartitionCalls.Interests)]) {
        guard let partition = channels.first?.remote.partition else { return }
        let unsubscribed = channels.map(\.remote).filter { !$0.isSubscribed }
        if !unsubscribed.isEmpty, partitions.subscribe(to: unsubscribed.map(\.topic), in: partition)
        {
            for remote in unsubscribed { remote.isSubscribed = true }
        }
        let requests = channels.map { remote, interests in
            let count = max(1, remotes.subscriptionCount(of: remote))
            return AttachRequest(remote: remote, interests: interests, count: count)
        }
        let call = partitions[partition].calls.attach(
            to: requests.map {
                .init(
                    to: $0.remote.channel,
                    count: $0.count,
                    $0.interests,
                    rules[$0.remote.address]
                )
            }
        )
        let attach = AwaitedCall(isPaced: true) { [self] reply in
            attached(reply, requests, on: partitions[partition].store)
        }
        let isSent = partitions.send(call, to: partition, as: attach)
        for (remote, interests) in channels {
            if isSent { remote.attaching = interests }
            (remote.vacantSince, remote.isDetachRefused) = (nil, false)
        }
    }

    private func attached(
        _ reply: borrowing RESPView,
        _ requests: [AttachRequest],
        on store: ClusterStore
    ) {
        let attachments = ChannelAttachment.all(reply)
        guard let attachments, attachments.count == requests.count else {
            let error = RedisError(reply)
            if error == nil { partitions.refused("the reply of attach.lua", by: store) }
            return refused(requests, error, by: store)
        }
        for (request, attachment) in zip(requests, attachments) {
            // What one channel has missed may end the connection, or move the partition away from it.
            guard store.isOpen, remotes.store(of: request.remote) === store else { return }
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
        for request in requests { request.remote.setHasJoinedAgain(false) }
        takenForDead(in: partition)
        let again = requests.filter { $0.remote.attaching == nil }
        sendAttach(again.map { ($0.remote, $0.interests) })
    }

    private func attached(_ attachment: ChannelAttachment, _ request: AttachRequest) {
        let (remote, interests) = (request.remote, request.interests)
        remote.attaching = nil
        remotes.setCountedSubscriptions(request.count, of: remote)
        if attachment.wasVacant { context.notify(.occupancy, on: remote.address, .occupied) }
        if interests.contains(.cachedEvent) {
            remote.cached = attachment.cachedEvent.flatMap { cachedEvent($0, remote, attachment) }
        }
        if remote.isCurrent, let newest = attachment.newest, newest != remote.position,
            interests.contains(.stream) || remotes.hasStream(remote)
        {
            if newest.serial == 0, !remotes.hasStream(remote) {
                // The call has begun the stream.
                delivery.begin(newest.stream, .epoch, on: remote)
            } else {
                // Everything published before the reply was received.
                partitions.counts.divergences += 1
                remotes.fellBehind(remote)
            }
        }
        if let missing = remote.missing {
            if remote.address.name.kind.isPresence {
                guard missing.hasJoinedAgain, interests.contains(.members) else {
                    members.joinAgain(remote)
                    // Read after their arrival.
                    return sendAttach(remote, interests.union(.members))
                }
                members.replace(remote, by: attachment)
            }
            catchUp(remote, attachment)
        } else if !remote.isCurrent {
            if interests.contains(.members) { members.replace(remote, by: attachment) }
            remotes.setPosition(attachment.newest, of: remote)
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
            case .event(let text) = announcement.content
        else {
            partitions.refused("a cached event", by: remotes.store(of: remote))
            return nil
        }
        // The script has cached it in the newest stream, or in one that has ended.
        let position = attachment.newest.flatMap { newest in
            announcement.serial == 0
                ? nil : StreamPosition(stream: newest.stream, serial: announcement.serial)
        }
        return RemoteChannel.CachedEvent(envelope: Envelope(text: text.span), position: position)
    }
}

/// A channel in a call of `attach`.
struct AttachRequest {
    let remote: RemoteChannel
    /// What the call reads.
    let interests: PartitionCalls.Interests
    /// The number of subscriptions that it sets.
    let count: Int
}
