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
        sendMembers(of: items, in: index, as: .items(partition: index))
    }

    private func sendMembers(of set: RedisKey, in index: Int, as purpose: Call) {
        send(to: index, as: purpose) { connection throws(RedisCallError) in
            try connection.call(argumentCount: 2) { writer in
                writer.argument(literal: "SMEMBERS")
                writer.argument(set)
            }
        }
    }

    func receive(_ reply: borrowing RESPView, ofItemsIn index: Int) {
        reply.forEach { item in
            switch NodeItem(item.text) {
            case .channel(let channel):
                guard let address = ChannelAddress(channel) else { return }
                if address.name.kind.isPresence {
                    let users = partitions[index].calls.keys.users(of: settings.node, on: channel)
                    sendMembers(of: users, in: index, as: .members(address, channel))
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
            send(call, to: index, as: .reconciled)
        }
        detachIfVacant(address, channel)
    }

    private func detachIfVacant(_ address: ChannelAddress, _ channel: ClusterChannel) {
        if let remote = remotes[address], subscriptionCount(of: remote) > 0 { return }
        let index = partition(of: address)
        let call = partitions[index].calls.detach(from: channel, rules(of: address))
        send(call, to: index, as: .reconciled)
    }

    private func signOutIfAbsent(_ user: ClusterUser, in index: Int) {
        let calls = partitions[index].calls
        guard users["\(calls.keys.announcements(user))"] == nil else { return }
        send(calls.setConnections(of: user, to: 0), to: index, as: .reconciled)
    }
}

extension ChannelAddress {
    /// The address of a channel that Redis has named; `nil` if its name is not valid.
    init?(_ channel: ClusterChannel) {
        guard let name = try? ChannelName(channel.name) else { return nil }
        self.init(app: AppID(channel.app), name: name)
    }
}
