import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Nodes that have ended: the first node to notice removes their data from Redis; a node that stops removes its own.
extension ClusterHome {
    /// Removes the data of dead nodes in a partition.
    func reap(_ names: [String], in partition: Int) {
        for name in names where name != settings.node {
            let node = EndedNode(name: name, partition: partition)
            if reapings[node] == nil { condemn(node) }
        }
    }

    /// Removes this node's data from Redis when it stops.
    func leaveCluster() {
        guard !isLeaving, stores.contains(where: \.isOpen) else { return }
        // Before the end of the leaderships, so that no other node repeats them.
        sendSettled()
        isLeaving = true
        if context.shard == 0 {
            removeReport()
            forgetUsage(of: [settings.node])
        }
        for partition in partitions.indices {
            condemn(EndedNode(name: settings.node, partition: partition))
        }
    }

    /// Whether the reachable stores have no data of this node.
    var hasLeft: Bool {
        guard stores.contains(where: \.isOpen) else { return true }
        return isLeaving && sessions.unansweredWrites == 0
            && !reapings.keys.contains { $0.name == settings.node }
            && partitions.allSatisfy { $0.settled.isEmpty || !$0.store.isOpen }
    }

    private func condemn(_ node: EndedNode) {
        let call = partitions[node.partition].calls.condemn(node.name, lease: settings.lease)
        if send(call, to: node.partition, as: .condemn(node)) { reapings[node] = 0 }
    }

    func condemned(_ reply: borrowing RESPView, _ node: EndedNode) {
        guard case .items(let items) = Condemnation(reply), !items.isEmpty else {
            if case .forgotten = Condemnation(reply) { counts.reapedNodes += 1 }
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
            case .channel(let channel): calls.reap(channel, of: node.name, rules(of: channel))
            case .user(let user): calls.reap(user, of: node.name)
            }
        if send(call, to: node.partition, as: .reap(node, item)) { reapings[node, default: 0] += 1 }
    }

    func reaped(_ reply: borrowing RESPView, _ node: EndedNode, _ item: NodeItem) {
        guard let count = reapings[node] else { return }
        reapings[node] = count - 1
        guard RedisError(reply) == nil else {
            // It is alive again.
            if count == 1 { reapings[node] = nil }
            return
        }
        if case .channel = item, let reaping = Reaping(reply) {
            counts.add(Int(reaping.memberCount), to: \.reapedMembers)
            forgotPositions(Int(reaping.forgottenCount))
            if reaping.hasMore { reap(item, of: node) }
        }
        if reapings[node] == 0 { condemn(node) }
    }

    /// The rules of a channel that only Redis knows.
    func rules(of channel: ClusterChannel) -> ChannelRules {
        address(of: channel).map { rules(of: $0) }
            ?? ChannelRules(positionsMax: 1)
    }

    /// The address of a channel that Redis has named; `nil` if its name is longer than the app allows now.
    func address(of channel: ClusterChannel) -> ChannelAddress? {
        let app = AppID(channel.app)
        let limits = context.registry.apps[app]?.limits.texts ?? ProtocolLimits()
        return (try? ChannelName(channel.name, limits: limits))
            .map { ChannelAddress(app: app, name: $0) }
    }
}
