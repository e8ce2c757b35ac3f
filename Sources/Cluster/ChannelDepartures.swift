import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

// The number of a channel's subscriptions, and the end of the last one.
extension SharedChannels {
    /// The time between two counts of a channel with subscribers.
    private static var countInterval: Duration { .seconds(1) }
    /// The time for which a channel without subscribers is followed.
    private static var vacancyTime: Duration { .seconds(10) }
    /// The maximum number of channels that are counted, or left, in one turn, so that events do not wait at Redis for
    /// more calls.
    static var departuresMax: Int { 8 }

    /// Notifies this node's subscribers of the number on all nodes, unless they have it already.
    func tellTotal(_ remote: RemoteChannel) {
        guard let total = remote.totalSubscriptions, total != remote.toldTotal,
            announcesTotal(of: remote)
        else { return }
        remote.toldTotal = total
        delivery.announce(
            .subscriptionCount(channel: remote.address.name.text, count: total),
            on: remote
        )
    }

    private func announcesTotal(of remote: RemoteChannel) -> Bool {
        ChannelHome.announcesCounts(of: remote.address, context.registry.apps[remote.address.app])
    }

    /// Called when the number of subscriptions of this node's connections may have changed.
    func countChanged(at address: ChannelAddress) {
        guard let remote = remotes[address], remote.attaching == nil, !remote.isGranting else {
            return
        }
        let count = remotes.subscriptionCount(of: remote)
        let isKnown = remote.toldTotal != nil || !announcesTotal(of: remote)
        guard count != remote.countedSubscriptions || count == 0 || !isKnown else { return }
        if count == 0 { return detach(remote) }
        uncounted.insert(address)
        counting.schedule(after: Self.countInterval)
    }

    func countSubscriptions() {
        for _ in 0..<Self.departuresMax {
            guard let address = uncounted.popFirst() else { return }
            guard let remote = remotes[address], remote.isCurrent, remote.attaching == nil,
                remote.countedSubscriptions > 0
            else { continue }
            let count = remotes.subscriptionCount(of: remote)
            guard count > 0 else { continue }
            guard count != remote.countedSubscriptions else {
                tellTotal(remote)
                continue
            }
            sendAttach(remote, remotes.hasStream(remote) ? .stream : [])
        }
        if !uncounted.isEmpty { counting.schedule(after: ClusterSettings.nextTurn) }
    }

    private func detach(_ remote: RemoteChannel) {
        if remote.countedSubscriptions > 0 { changeAttachment(of: remote) }
        guard remote.vacantSince == nil else { return }
        let now = context.reactor.now
        remote.vacantSince = now
        vacant.append((remote, now))
        leaving.schedule(after: Self.vacancyTime)
    }

    /// Detaches the node, if it is attached.
    func endAttachment(to remote: RemoteChannel) {
        guard remote.countedSubscriptions > 0 else { return }
        remotes.setCountedSubscriptions(0, of: remote)
        sendDetach(remote)
    }

    private func sendDetach(_ remote: RemoteChannel) {
        guard remotes.departing[remote.address].isEmpty else {
            remote.isDetachRefused = true
            return
        }
        let call = remotes.calls(of: remote).detach(
            from: remote.channel,
            rules[remote.address],
            since: remote.vacantSince?.duration(to: context.reactor.now) ?? .zero
        )
        let detach = AwaitedCall(isPaced: true) { [self] reply in detached(reply, remote) }
        partitions.send(call, to: remote.partition, as: detach)
    }

    /// Detaches the node when the user that was still a member has left.
    func detachIfRefused(_ remote: RemoteChannel) {
        guard remote.isDetachRefused, remotes.subscriptionCount(of: remote) == 0 else { return }
        remote.isDetachRefused = false
        sendDetach(remote)
    }

    private func detached(_ reply: borrowing RESPView, _ remote: RemoteChannel) {
        remote.isDetachRefused = RedisError(reply)?.code == .members
        // A node that is not registered cannot be detached.
        guard let detachment = ChannelDetachment(reply), detachment.becameVacant else { return }
        partitions.forgotPositions(Int(detachment.forgottenCount))
        context.notify(.occupancy, on: remote.address, .vacated)
    }

    /// Stops following channels that have had no subscriber for ``vacancyTime``.
    func leaveVacantTopics() {
        let now = context.reactor.now
        var left: [RemoteChannel] = []
        for _ in 0..<Self.departuresMax {
            guard let (remote, since) = vacant.first,
                since.duration(to: now) >= Self.vacancyTime
            else { break }
            vacant.removeFirst()
            guard remotes[remote.address] === remote, remote.vacantSince == since else { continue }
            guard remote.attaching == nil, !remote.isQueued,
                remotes.subscriptionCount(of: remote) == 0,
                remotes.departing[remote.address].isEmpty
            else {
                // A subscription waits for Redis and may be abandoned, or Redis has to be notified of the end of the
                // last one.
                remote.vacantSince = now
                vacant.append((remote, now))
                continue
            }
            left.append(remote)
        }
        for remote in left { remotes.forget(remote) }
        // One command for all partitions of a store; in a Redis Cluster each has its own slot.
        let subscribed = Dictionary(grouping: left.filter(\.isSubscribed)) { remote in
            partitions.slots == nil ? remotes.store(of: remote).partitions[0] : remote.partition
        }
        for (partition, remotes) in subscribed {
            partitions.unsubscribe(from: remotes.map(\.topic), in: partition)
        }
        guard let next = vacant.first else { return }
        let rest = Self.vacancyTime - next.since.duration(to: now)
        leaving.schedule(after: rest > .zero ? max(rest, .seconds(1)) : ClusterSettings.nextTurn)
    }
}
