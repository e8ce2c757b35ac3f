import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

/// The channels whose home is this shard.
///
/// Redis orders their messages, counts their subscriptions and keeps their streams. This shard forwards what its
/// clients and backends send, and what Redis announces: to the subscribers of this node, in one order for all nodes.
final class SharedChannels {
    let partitions: Partitions
    let rules: SharedRules
    // The service owns this object.
    unowned let service: ChannelService
    let remotes: RemoteChannels
    let delivery: LocalDelivery
    private(set) lazy var members = ChannelMembers(self)
    private(set) lazy var replays = ChannelReplays(self)
    /// Registers this node in a partition again, after another one has declared it dead.
    var registerAgain: (Int) -> Void = { _ in }
    /// The channels without subscribers, in the order in which they have lost the last one; some may have subscribers
    /// again.
    var vacant = Queue<(remote: RemoteChannel, since: MonotonicTime)>()
    /// The channels whose waiting subscriptions are granted in portions, without another answer of Redis.
    var granting = Queue<RemoteChannel>()
    /// The channels whose number of subscriptions is to be sent to Redis.
    var uncounted: Set<ChannelAddress> = []
    lazy var counting = DelayedWork(on: context.reactor) { [unowned self] in countSubscriptions() }
    lazy var leaving = DelayedWork(on: context.reactor) { [unowned self] in leaveVacantTopics() }

    init(_ partitions: Partitions, _ rules: SharedRules, _ service: ChannelService) {
        (self.partitions, self.rules, self.service) = (partitions, rules, service)
        remotes = RemoteChannels(partitions, service)
        delivery = LocalDelivery(remotes, service)
    }

    var context: ShardContext { partitions.context }

    /// Ends all work, with the shard.
    func removeAll() { granting = Queue() }

    // MARK: - Announcements

    /// Receives what is published at a channel's pub/sub channel.
    func received(_ message: borrowing RESPView, on remote: RemoteChannel) {
        guard let announcement = message.withBytes({ ChannelAnnouncement($0) }) else {
            partitions.refused(remote.topic, by: remotes.store(of: remote))
            // It may have been an event: it is read from Redis, or the subscribers are notified of a gap.
            if remote.isCurrent { attachAgain(remote) }
            return
        }
        receive(announcement, on: remote)
    }

    /// Receives what is published for a channel.
    private func receive(_ announcement: ChannelAnnouncement, on remote: RemoteChannel) {
        if case .count(let count) = announcement.content { remote.totalSubscriptions = count }
        // Messages published before the node knows the channel's position are part of what it will read. Messages read
        // after the list of members do not describe members.
        guard remote.isCurrent || remote.isCatchingUp && announcement.content.isOfMembers else {
            return
        }
        switch announcement.content {
        case .event(let envelope), .clientEvent(let envelope):
            receive(envelope, announcement, on: remote)
        case .count(let count):
            context.notify(.subscriptionCounts, on: remote.address, .subscriptionCount(count))
            tellTotal(remote)
        case .stream(let id, let reason): delivery.begin(id, reason, on: remote)
        case .memberAdded(let user, let info):
            members.memberCame(Member(id: UserID(user), info: info.isEmpty ? nil : info), remote)
        case .memberRemoved(let user): members.memberLeft(UserID(user), remote)
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
        delivery.deliver(envelope, announcement, on: remote)
    }

    /// Closes the clients with channels in a partition.
    func closeClients(in index: Int) {
        for remote in partitions[index].channels {
            delivery.endSubscriptions(to: remote, nil)
            // They wait until their connections have ended; each connection withdraws its own.
            for request in remote.waiting.requests { delivery.close(request) }
        }
    }
}
