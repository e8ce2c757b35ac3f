import Broker
import PusherProtocol
import RESP
import Redis

// What Redis has of this node that has ended while Redis could not be told, or whose end a new primary does not know.
extension ClusterHome {
    /// Compares what Redis has of this node in a partition with what there is, and removes the rest.
    ///
    /// Called when the node is registered again. What has begun meanwhile is attached by ``catchUpAll(in:)``.
    func reconcile(_ index: Int) {
        let items = partitions[index].calls.keys.items(of: settings.node)
        send(["SMEMBERS", "\(items)"], to: index, as: .items(partition: index))
    }

    func receive(_ reply: borrowing RESPView, ofItemsIn index: Int) {
        reply.forEach { item in
            switch NodeItem(item.text) {
            case .channel(let channel):
                guard let address = address(of: channel) else { return }
                if address.name.kind.isPresence {
                    let users = partitions[index].calls.keys.users(of: settings.node, on: channel)
                    let purpose = Call.members(address, channel)
                    send(["SMEMBERS", "\(users)"], to: index, as: purpose)
                } else {
                    detachIfVacant(address, channel)
                }
            case .user(let user): signOutIfAbsent(user, in: index)
            case nil: break
            }
        }
    }

    /// Receives which users Redis takes for members of a channel on this node.
    func receive(
        _ reply: borrowing RESPView,
        ofMembersOf address: ChannelAddress,
        _ channel: ClusterChannel
    ) {
        let index = partition(of: address)
        let remote = remotes[address]
        reply.forEach { element in
            let user = UserID(element.text)
            if let remote, isPresent(user, on: remote) { return }
            remote?.joined.remove(user)
            let call = partitions[index].calls.leave(channel, as: user.text, rules(of: address))
            send(call, to: index, as: .unawaited)
        }
        detachIfVacant(address, channel)
    }

    private func detachIfVacant(_ address: ChannelAddress, _ channel: ClusterChannel) {
        if let remote = remotes[address], subscriptionCount(of: remote) > 0 { return }
        let index = partition(of: address)
        let call = partitions[index].calls.detach(from: channel, rules(of: address))
        send(call, to: index, as: .unawaited)
    }

    private func signOutIfAbsent(_ user: ClusterUser, in index: Int) {
        let calls = partitions[index].calls
        let known = users["\(calls.keys.announcements(user))"]
        guard known?.connectionCount ?? 0 == 0 else { return }
        send(calls.setConnections(of: user, to: 0), to: index, as: .unawaited)
    }
}
