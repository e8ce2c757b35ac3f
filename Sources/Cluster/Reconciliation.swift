import Broker
import Primitives
import PusherProtocol
import RESP
import Redis

/// Finds data of this node in Redis that is outdated, because Redis could not be notified, or a new primary lacks the
/// change.
///
/// One partition after the other in which the node was registered again is read, and compared in portions.
final class Reconciliation {
    private let partitions: Partitions
    private let rules: SharedRules
    private let users: SharedUsers
    private let channels: SharedChannels
    /// The partitions that are not read yet.
    private var waiting = Queue<Int>()
    /// The store from which one is being read; `nil` if none is.
    private weak var store: ClusterStore?
    /// The items of the last partition that are not compared yet, the next one last.
    var items: [String] = []
    /// The index of that partition.
    private var partition = 0

    init(
        _ partitions: Partitions,
        _ rules: SharedRules,
        _ users: SharedUsers,
        _ channels: SharedChannels
    ) {
        (self.partitions, self.rules) = (partitions, rules)
        (self.users, self.channels) = (users, channels)
    }

    /// Ends all work, with the shard.
    func removeAll() { (waiting, store, items, partition) = (Queue(), nil, [], 0) }

    /// Compares what Redis has of this node in a partition with the present state, and removes the rest.
    ///
    /// Called when the node is registered again. Channels that have begun meanwhile are attached by
    /// ``SharedChannels/catchUpAll(in:partition:)``.
    func begin(in index: Int) {
        guard !waiting.elements.contains(index) else { return }
        waiting.append(index)
    }

    /// The maximum number of items that are compared in one turn.
    static var reconciledMax: Int { 32 }

    /// Whether the next turn can compare items, or request them.
    var hasItems: Bool {
        !items.isEmpty || store == nil && !waiting.isEmpty
    }

    /// Compares the next items, or requests those of the next partition.
    func advance() {
        for _ in 0..<Self.reconciledMax {
            guard let item = items.popLast() else { break }
            reconcile(NodeItem(item), in: partition)
        }
        guard hasItems, items.isEmpty else { return }
        let index = waiting.removeFirst()
        let key = partitions[index].calls.keys.items(of: partitions.settings.node)
        let call = RepeatableCall { [self] reply in
            (store, partition) = (nil, index)
            reply.forEach { items.append($0.text) }
        } giveUp: { [self] in
            store = nil
        }
        let isSent = partitions.send(["SMEMBERS", "\(key)"], to: index, as: call)
        // Without a connection the node will be registered again.
        if isSent { store = partitions[index].store }
    }

    private func reconcile(_ item: NodeItem?, in index: Int) {
        switch item {
        case .channel(let channel):
            guard let address = rules.address(of: channel) else { return }
            if address.name.kind.isPresence {
                let node = partitions.settings.node
                let key = partitions[index].calls.keys.users(of: node, on: channel)
                let call = AwaitedCall { [self] reply in
                    receive(reply, ofMembersOf: address, channel)
                }
                partitions.send(["SMEMBERS", "\(key)"], to: index, as: call)
            } else {
                detachIfVacant(address, channel)
            }
        case .user(let user): users.signOutIfAbsent(user, in: index)
        case nil: break
        }
    }

    /// Receives the users that are members of a channel on this node according to Redis.
    private func receive(
        _ reply: borrowing RESPView,
        ofMembersOf address: ChannelAddress,
        _ channel: ClusterChannel
    ) {
        let index = partitions.index(of: address)
        let remote = channels.remotes[address]
        reply.forEach { element in
            let user = UserID(element.text)
            if let remote, channels.members.isPresent(user, on: remote) { return }
            remote?.joined.remove(user)
            channels.remotes.departing.remove(user, from: address)
            let call = partitions[index].calls.leave(channel, as: user.text, rules[address])
            partitions.send(call, to: index, as: UnawaitedCall())
        }
        detachIfVacant(address, channel)
    }

    private func detachIfVacant(_ address: ChannelAddress, _ channel: ClusterChannel) {
        let remote = channels.remotes[address]
        if let remote, channels.remotes.subscriptionCount(of: remote) > 0 { return }
        let index = partitions.index(of: address)
        let call = partitions[index].calls.detach(from: channel, rules[address])
        partitions.send(call, to: index, as: UnawaitedCall())
    }
}
