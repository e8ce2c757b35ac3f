import Broker
import Primitives
import PusherProtocol
import RESP
import Redis

/// The data that Redis has of this node in partitions in which it was registered again.
///
/// One partition after the other is read, and compared in portions.
struct Reconciliation {
    /// The partitions that are not read yet.
    var partitions = Queue<Int>()
    /// The store from which one is being read; `nil` if none is.
    weak var store: ClusterStore?
    /// The items of the last partition that are not compared yet, the next one last.
    var items: [String] = []
    /// The index of that partition.
    var partition = 0
}

// Data of this node in Redis that is outdated, because Redis could not be notified, or a new primary lacks the change.
extension ClusterHome {
    /// Compares what Redis has of this node in a partition with the present state, and removes the rest.
    ///
    /// Called when the node is registered again. Channels that have begun meanwhile are attached by
    /// ``catchUpAll(in:)``.
    func reconcile(_ index: Int) {
        guard !reconciliation.partitions.elements.contains(index) else { return }
        reconciliation.partitions.append(index)
    }

    /// The maximum number of items that are compared in one turn.
    static var reconciledMax: Int { 32 }

    /// Whether the next turn can compare items, or request them.
    var hasItems: Bool {
        !reconciliation.items.isEmpty
            || reconciliation.store == nil && !reconciliation.partitions.isEmpty
    }

    /// Compares the next items, or requests those of the next partition.
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
                let purpose = ClusterCall.members(address, channel)
                send(["SMEMBERS", "\(users)"], to: index, as: purpose)
            } else {
                detachIfVacant(address, channel)
            }
        case .user(let user): signOutIfAbsent(user, in: index)
        case nil: break
        }
    }

    /// Receives the users that are members of a channel on this node according to Redis.
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
