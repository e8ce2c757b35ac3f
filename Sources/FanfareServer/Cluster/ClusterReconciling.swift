import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Behind another epoch: a replica that was promoted may have this node in an older state than the node has left it in. What the
// node has comes back by `attach` and `join`; what it has left is removed here.
extension ClusterHome {
    /// Asks what Redis has of this node in a partition.
    func reconcile(_ index: Int) {
        readSet(partitions[index].calls.keys.items(of: settings.node), as: .items(partition: index))
    }

    private func readSet(_ key: RedisKey, as purpose: Call) {
        send(purpose) { connection throws(RedisCallError) in
            try connection.call(argumentCount: 2) { writer in
                writer.argument(literal: "SMEMBERS")
                writer.argument(key)
            }
        }
    }

    func receiveItems(_ reply: borrowing RESPView, in index: Int) {
        guard RedisError(reply) == nil else { return }
        var items: [NodeItem] = []
        reply.forEach { if let item = NodeItem($0.text) { items.append(item) } }
        for item in items {
            switch item {
            case .channel(let channel): reconcile(channel)
            case .user(let user): reconcile(user, in: index)
            }
        }
    }

    private func reconcile(_ user: ClusterUser, in index: Int) {
        let calls = partitions[index].calls
        let topic = "\(calls.keys.announcements(user))"
        guard users[topic] == nil else { return }
        send(calls.setConnections(of: user, to: 0), as: .user(topic, behind: nil))
    }

    private func reconcile(_ channel: ClusterChannel) {
        guard let name = try? ChannelName(channel.name) else { return }
        let address = ChannelAddress(app: AppID(channel.app), name: name)
        let remote = remotes[address] ?? follow(address)
        remote.mayBeAttached = true
        guard name.kind.isPresence else { return detachIfVacant(remote) }
        readSet(
            calls(of: remote).keys.users(of: settings.node, on: remote.channel),
            as: .users(remote)
        )
    }

    func receiveUsers(_ reply: borrowing RESPView, of remote: RemoteChannel) {
        guard remotes[remote.address] === remote, RedisError(reply) == nil else { return }
        var users: [UserID] = []
        reply.forEach { users.append(UserID($0.text)) }
        remote.mayBeMembers.formUnion(users)
        for user in users where !isHere(user, remote) { sendLeave(user, remote) }
        detachIfVacant(remote)
    }

    private func isHere(_ user: UserID, _ remote: RemoteChannel) -> Bool {
        remote.joined.contains(user) || remote.joining[user] != nil
            || channels.table[remote.address]?.home.presence.contains(user) == true
            || remote.waiting.contains { $0.member?.id == user }
            || replays.values.contains { $0.0 === remote && $0.1.member?.id == user }
    }

    private func detachIfVacant(_ remote: RemoteChannel) {
        guard subscriptionCount(of: remote) == 0, remote.attaching == nil else { return }
        detachAgain(remote)
    }
}
