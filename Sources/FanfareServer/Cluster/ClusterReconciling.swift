import Broker
import Primitives
import PusherProtocol
import RESP
import Redis

/// What Redis has of this node in the partitions in which it was registered again: one partition after the other is read, and
/// compared in portions.
struct Reconciliation {
    /// The partitions that are not read yet.
    var partitions = Queue<Int>()
    /// The store that is asked for one; `nil` if none is.
    weak var store: ClusterStore?
    /// What is not compared yet of the last partition, the next last.
    var items: [String] = []
    /// The index of that partition.
    var partition = 0
}

// What Redis has of this node that has ended while Redis could not be told, or whose end a new primary does not know.
extension ClusterHome {
    /// Compares what Redis has of this node in a partition with what there is, and removes the rest.
    ///
    /// Called when the node is registered again. What has begun meanwhile is attached by ``catchUpAll(in:)``.
    func reconcile(_ index: Int) {
        guard !reconciliation.partitions.elements.contains(index) else { return }
        reconciliation.partitions.append(index)
    }

    /// The most items that are compared in one turn.
    static var reconciledMax: Int { 32 }

    /// Whether the next turn can compare something, or ask for it.
    var hasItems: Bool {
        !reconciliation.items.isEmpty
            || reconciliation.store == nil && !reconciliation.partitions.isEmpty
    }

    /// Compares the next items, or asks for those of the next partition.
    func reconcileNext() {
        for _ in 0..<Self.reconciledMax {
            guard let item = reconciliation.items.popLast() else { break }
            reconcile(NodeItem(item), in: reconciliation.partition)
        }
        guard hasItems, reconciliation.items.isEmpty else { return }
        let index = reconciliation.partitions.removeFirst()
        let items = partitions[index].calls.keys.items(of: settings.node)
        let isSent = send(["SMEMBERS", "\(items)"], to: index, as: .items(partition: index))
        // Without a connection the node will be registered again.
        if isSent { reconciliation.store = partitions[index].store }
    }

    func receive(_ reply: borrowing RESPView, ofItemsIn index: Int) {
        (reconciliation.store, reconciliation.partition) = (nil, index)
        reply.forEach { reconciliation.items.append($0.text) }
    }

    private func reconcile(_ item: NodeItem?, in index: Int) {
        switch item {
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
