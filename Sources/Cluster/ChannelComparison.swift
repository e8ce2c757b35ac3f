import RESP
import Redis

/// A regular comparison of what this node has received with what Redis has.
///
/// A bug of either that loses a message is found within a minute, and repaired. Otherwise nothing ever differs, because
/// replies and announcements arrive in one order.
final class ChannelComparison {
    private let shared: SharedChannels
    private let partitions: Partitions

    init(_ shared: SharedChannels) { (self.shared, partitions) = (shared, shared.partitions) }

    /// The number of heartbeats in which every channel is compared once.
    private static var heartbeatsPerRound: Int { 20 }

    /// Decides how many channels of a store are compared until the next heartbeat.
    func begin(in store: ClusterStore) {
        let all = store.partitions.reduce(0) { $0 + partitions[$1].channels.count }
        let count = ClusterSettings.portionCount
        store.comparison.left = (all + Self.heartbeatsPerRound - 1) / Self.heartbeatsPerRound
        store.comparison.portion = (store.comparison.left + count - 1) / count
    }

    /// The maximum number of channels that are compared in one turn.
    private static var comparedMax: Int { 16 }

    /// Begins to compare the next channels of a store; called with each portion of heartbeats.
    func compareNext(in store: ClusterStore) {
        store.comparison.due = min(store.comparison.left, store.comparison.portion)
        store.comparison.left -= store.comparison.due
        compareDue(in: store)
    }

    /// Compares the next channels of the present portion, up to the limit of one turn.
    func compareDue(in store: ClusterStore) {
        var rest = min(store.comparison.due, Self.comparedMax)
        store.comparison.due -= rest
        if store.comparison.due > 0 {
            store.startTimer(.comparison, after: ClusterSettings.nextTurn)
        }
        // Each partition at most once.
        for _ in store.partitions.indices where rest > 0 {
            if store.comparison.partition >= store.partitions.count {
                store.comparison.partition = 0
            }
            let partition = store.partitions[store.comparison.partition]
            let channels = partitions[partition].channels.dropFirst(store.comparison.channel)
            let part = channels.prefix(rest)
            compare(part.filter { isComparable($0) }, in: partition)
            rest -= part.count
            store.comparison.channel += part.count
            guard part.count == channels.count else { return }
            store.comparison.partition += 1
            store.comparison.channel = 0
        }
    }

    private func compare(_ remotes: [RemoteChannel], in partition: Int) {
        for start in stride(from: 0, to: remotes.count, by: ClusterScripts.messageCountMax) {
            let part = Array(remotes[start...].prefix(ClusterScripts.messageCountMax))
            let call = partitions[partition].calls.positions(of: part.map(\.channel))
            partitions.send(call, to: partition) { [self] reply in compared(reply, part) }
        }
    }

    /// Whether the node has received everything of a channel that has positions.
    private func isComparable(_ remote: RemoteChannel) -> Bool {
        shared.remotes[remote.address] === remote && remote.isCurrent && remote.attaching == nil
            && shared.rules.recovery(of: remote.address) != nil
    }

    private func compared(_ reply: borrowing RESPView, _ channels: [RemoteChannel]) {
        guard let positions = StreamPositions(reply), positions.newest.count == channels.count,
            let partition = channels.first?.partition,
            // The next heartbeat finds another epoch.
            positions.since == partitions[partition].epoch?.since
        else { return }
        for (remote, newest) in zip(channels, positions.newest)
        where isComparable(remote) && remote.position != newest { shared.lookForMissed(on: remote) }
    }
}
