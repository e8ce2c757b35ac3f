import RESP
import Redis
import Shard

/// Removes the data of nodes that have ended: the first node to notice does it, and a node that stops removes its own.
final class NodeReaper {
    /// A node that has ended, in one partition.
    private struct EndedNode: Hashable {
        let name: String
        /// The index of the partition among those of the shard.
        let partition: Int
    }

    private let partitions: Partitions
    private let rules: SharedRules
    /// The ended nodes whose data is being removed, and the number of unanswered calls for that.
    private var reapings: [EndedNode: Int] = [:]

    init(_ partitions: Partitions, _ rules: SharedRules) {
        (self.partitions, self.rules) = (partitions, rules)
    }

    private var thisNode: String { partitions.settings.node }

    /// Removes the data of dead nodes in a partition.
    func reap(_ names: [String], in index: Int) {
        for name in names where name != thisNode {
            let node = EndedNode(name: name, partition: index)
            if reapings[node] == nil { condemn(node) }
        }
    }

    /// Removes the data of this node, which stops.
    func reapThisNode() {
        for index in partitions.indices { condemn(EndedNode(name: thisNode, partition: index)) }
    }

    /// Whether data of this node is being removed.
    var isReapingThisNode: Bool { reapings.keys.contains { $0.name == thisNode } }

    /// Called when the connection to a store is lost.
    func forget(_ store: ClusterStore) {
        reapings = reapings.filter { partitions[$0.key.partition].store !== store }
    }

    private func condemn(_ node: EndedNode) {
        let lease = partitions.settings.lease
        let call = partitions[node.partition].calls.condemn(node.name, lease: lease)
        let isSent = partitions.send(call, to: node.partition) { [self] reply in
            condemned(reply, node)
        }
        if isSent { reapings[node] = 0 }
    }

    private func condemned(_ reply: borrowing RESPView, _ node: EndedNode) {
        guard case .items(let items) = Condemnation(reply), !items.isEmpty else {
            if case .forgotten = Condemnation(reply) { partitions.counts.reapedNodes += 1 }
            // Alive, removed, or being removed by another node. An error is found again by the next heartbeat.
            reapings[node] = nil
            return
        }
        for item in items { reap(item, of: node) }
    }

    private func reap(_ item: NodeItem, of node: EndedNode) {
        let calls = partitions[node.partition].calls
        let call =
            switch item {
            case .channel(let channel): calls.reap(channel, of: node.name, rules[channel])
            case .user(let user): calls.reap(user, of: node.name)
            }
        let isSent = partitions.send(call, to: node.partition) { [self] reply in
            reaped(reply, node, item)
        }
        if isSent { reapings[node, default: 0] += 1 }
    }

    private func reaped(_ reply: borrowing RESPView, _ node: EndedNode, _ item: NodeItem) {
        guard let count = reapings[node] else { return }
        reapings[node] = count - 1
        guard RedisError(reply) == nil else {
            // It is alive again.
            if count == 1 { reapings[node] = nil }
            return
        }
        if case .channel = item, let reaping = Reaping(reply) {
            partitions.counts.add(Int(reaping.memberCount), to: \.reapedMembers)
            partitions.forgotPositions(Int(reaping.forgottenCount))
            if reaping.hasMore { reap(item, of: node) }
        }
        if reapings[node] == 0 { condemn(node) }
    }
}
