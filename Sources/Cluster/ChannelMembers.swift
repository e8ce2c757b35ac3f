import Broker
import Net
import PusherProtocol
import RESP
import Redis
import Shard

/// The members of presence channels: Redis has those of all nodes, and announces arrivals and departures.
///
/// The node reports a user's first connection to a channel to Redis, and the end of the last one when the user has not
/// returned within the app's grace. The subscription of a new member is granted when its own arrival has been
/// announced. So its list of members is the one at that place in the order.
final class ChannelMembers {
    // The channels own this object.
    private unowned let shared: SharedChannels
    private lazy var leaving = DelayedWork(on: context.reactor) { [unowned self] in leaveDue() }

    init(_ shared: SharedChannels) { self.shared = shared }

    private var remotes: RemoteChannels { shared.remotes }
    private var context: ShardContext { shared.context }

    // MARK: - Arrivals

    /// Whether a subscription waits for its user to become a member.
    func joins(_ subscription: PendingSubscription, _ remote: RemoteChannel) -> Bool {
        guard let member = subscription.member else { return false }
        let isDeparting = remotes.departing.remove(member.id, from: remote.address) != nil
        guard !remote.joined.contains(member.id) || isDeparting && isChanged(member, remote) else {
            return false
        }
        // With another info, a user leaves and joins.
        if isDeparting { leave(member.id, remote) }
        if remote.join(subscription, as: member.id) {
            let call = arrival(of: member, on: remote, membersMax: membersMax(of: remote))
            shared.partitions.send(call, to: remote.partition) { [self] reply in
                joined(reply, remote, member)
            }
        }
        return true
    }

    private func isChanged(_ member: Member, _ remote: RemoteChannel) -> Bool {
        remote.members[member.id].map { $0.info ?? [] != member.info ?? [] } ?? false
    }

    private func membersMax(of remote: RemoteChannel) -> Int {
        context.registry.apps[remote.address.app]?.limits.membersMax ?? 0
    }

    private func arrival(
        of member: Member,
        on remote: RemoteChannel,
        membersMax: Int
    ) -> ScriptCall {
        remotes.calls(of: remote).join(
            remote.channel,
            as: member.id.text,
            info: member.info ?? [],
            membersMax: membersMax,
            shared.rules[remote.address]
        )
    }

    private func joined(_ reply: borrowing RESPView, _ remote: RemoteChannel, _ member: Member) {
        guard remotes[remote.address] === remote else { return }
        guard let arrival = MemberArrival(reply) else {
            // Redis has declared the node dead, or has no memory: it is attached again first.
            remote.waiting.append(contentsOf: remote.takeJoining(member.id) ?? [])
            shared.attachLater(remote)
            guard [.fenced, .detached].contains(RedisError(reply)?.code) else { return }
            return shared.lookForMissed(on: remote)
        }
        switch arrival {
        case .refused:
            let subscriptions = remote.takeJoining(member.id) ?? []
            // Another user of this node makes room, if one is about to leave.
            if let departure = remotes.departing.takeFirst(of: remote.address) {
                leaveNow(departure.user, remote, since: departure.time)
                for subscription in subscriptions {
                    shared.subscribe(subscription, to: remote.address)
                }
                return
            }
            for subscription in subscriptions {
                shared.service.sendRefusal(
                    of: subscription.request,
                    at: remote.address,
                    .full(remote.address.name, membersMax: membersMax(of: remote))
                )
            }
            shared.countChanged(at: remote.address)
        case .newMember:
            context.notify(.members, on: remote.address, .memberAdded(member.id))
            remote.announced.insert(member.id)
            if remote.members.contains(member.id) { grantJoined(member.id, remote) }
        case .knownMember:
            remote.members.add(member)
            grantJoined(member.id, remote)
        }
    }

    /// Grants the subscriptions of a user who has become a member.
    private func grantJoined(_ user: UserID, _ remote: RemoteChannel) {
        remote.announced.remove(user)
        guard let subscriptions = remote.takeJoining(user) else { return }
        remote.joined.insert(user)
        guard remote.isCurrent else {
            remote.waiting.append(contentsOf: subscriptions)
            return
        }
        shared.grant(Array(subscriptions.prefix(SharedChannels.grantedMax)), on: remote)
        if subscriptions.count > SharedChannels.grantedMax {
            remote.waiting.append(contentsOf: Array(subscriptions[SharedChannels.grantedMax...]))
            shared.attach(remote)
        }
        leaveIfAbsent(user, remote)
        shared.countChanged(at: remote.address)
    }

    // MARK: - Departures

    /// Called when the last connection of a user may have left a channel.
    func leaveIfAbsent(_ user: UserID, _ remote: RemoteChannel) {
        let address = remote.address
        guard remote.joined.contains(user), remotes.departing[address][user] == nil,
            !isPresent(user, on: remote)
        else { return }
        let grace = context.registry.apps[address.app]?.features.presenceGrace ?? 0
        guard grace > 0 else { return leave(user, remote) }
        remotes.departing.add(user, from: address, after: grace, at: context.milliseconds)
        guard remotes.departing[address].count < remote.members.members.count else {
            // When no member has a connection, none is there to see who leaves.
            let departing = remotes.departing.removeAll(from: address)
            for (user, time) in departing.sorted(by: { $0.key.text < $1.key.text }) {
                leaveNow(user, remote, since: time)
            }
            return
        }
        scheduleLeaving()
    }

    private func scheduleLeaving() {
        guard let due = remotes.departing.nextDue else { return }
        // The times of another app's members may be earlier.
        leaving.schedule(after: .milliseconds(min(max(due - context.milliseconds, 1), 1_000)))
    }

    private func leaveDue() {
        let now = context.milliseconds
        for departure in remotes.departing.takeDue(atMost: SharedChannels.departuresMax, at: now) {
            guard let remote = remotes[departure.address] else { continue }
            leaveNow(departure.user, remote, since: departure.time)
        }
        scheduleLeaving()
    }

    /// Ends the membership of a user who was departing, unless the user has a connection again.
    private func leaveNow(_ user: UserID, _ remote: RemoteChannel, since time: Int64) {
        guard remote.joined.contains(user), !isPresent(user, on: remote) else { return }
        leave(user, remote, since: time)
    }

    /// Ends the membership of a user whose last connection left at this time in milliseconds, or now.
    private func leave(_ user: UserID, _ remote: RemoteChannel, since time: Int64? = nil) {
        let now = context.milliseconds
        remote.joined.remove(user)
        let call = remotes.calls(of: remote).leave(
            remote.channel,
            as: user.text,
            shared.rules[remote.address],
            since: .milliseconds(now - (time ?? now))
        )
        shared.partitions.send(call, to: remote.partition) { [self] reply in
            left(reply, remote, user)
        }
    }

    /// Whether a user has a connection of this node on a channel, or one that waits to be granted.
    func isPresent(_ user: UserID, on remote: RemoteChannel) -> Bool {
        shared.service.table[remote.address]?.home.presence.contains(user) == true
            || remote.hasPending(user)
    }

    private func left(_ reply: borrowing RESPView, _ remote: RemoteChannel, _ user: UserID) {
        shared.detachIfRefused(remote)
        guard let departure = MemberDeparture(reply), departure == .memberLeft else { return }
        context.notify(.members, on: remote.address, .memberRemoved(user))
    }

    // MARK: - Announcements

    func memberCame(_ member: Member, _ remote: RemoteChannel) {
        if remote.members.add(member) { announceArrival(of: member, on: remote) }
        if remote.announced.contains(member.id) { grantJoined(member.id, remote) }
    }

    func memberLeft(_ user: UserID, _ remote: RemoteChannel) {
        // It leaves anyway.
        if remotes.departing.remove(user, from: remote.address) != nil {
            remote.joined.remove(user)
        }
        // Another node has declared this one dead, and removed its data.
        guard !remote.joined.contains(user) else { return shared.attachAgain(remote) }
        if remote.members.remove(user) { announceDeparture(of: user, on: remote) }
    }

    private func announceArrival(of member: Member, on remote: RemoteChannel) {
        let notice = ServerMessage.memberAdded(member, to: remote.address.name)
        shared.delivery.announce(notice, on: remote, isOfMembers: true)
    }

    private func announceDeparture(of user: UserID, on remote: RemoteChannel) {
        let channel = remote.address.name.text
        let notice = ServerMessage.memberRemoved(channel: channel, userID: user.text)
        shared.delivery.announce(notice, on: remote, isOfMembers: true)
    }

    // MARK: - After a loss of the connection

    /// Makes the users of this node members again, because Redis may have removed them.
    func joinAgain(_ remote: RemoteChannel) {
        remote.setHasJoinedAgain(true)
        let membersMax = max(membersMax(of: remote), 1)
        for member in shared.service.table[remote.address]?.home.presence.members ?? [] {
            remote.joined.insert(member.id)
            let call = arrival(of: member, on: remote, membersMax: membersMax)
            shared.partitions.send(call, to: remote.partition, as: UnawaitedCall())
        }
    }

    /// Replaces the list of members, and notifies the subscribers of the difference.
    func replace(_ remote: RemoteChannel, by attachment: ChannelAttachment) {
        let members = attachment.members.map { member in
            Member(id: UserID(member.user), info: member.info.isEmpty ? nil : member.info)
        }
        let (left, come) = remote.members.replace(by: members)
        for user in left { announceDeparture(of: user, on: remote) }
        for member in come { announceArrival(of: member, on: remote) }
    }
}
