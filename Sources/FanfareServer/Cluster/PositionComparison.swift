import Broker
import Net
import RESP
import Redis

// A regular comparison of what this node has received with what Redis has: a bug that loses a message, of either, is found
// within a minute, and repaired. Nothing else ever differs, since replies and announcements come in one order.
extension ClusterHome {
    /// The number of heartbeats in which every channel is compared once.
    private static var heartbeatsPerRound: Int { 20 }

    /// Compares the next channels of a store; called with each heartbeat.
    func compareNext(in store: ClusterStore) {
        let all = remotes(in: store)
        if store.uncompared.isEmpty { store.uncompared = all }
        let share = (all.count + Self.heartbeatsPerRound - 1) / Self.heartbeatsPerRound
        compare(store.uncompared.suffix(share))
        store.uncompared.removeLast(min(share, store.uncompared.count))
    }

    private func compare(_ channels: ArraySlice<RemoteChannel>) {
        var compared: [Int: [RemoteChannel]] = [:]
        for remote in channels where isComparable(remote) {
            compared[remote.partition, default: []].append(remote)
        }
        for (partition, remotes) in compared {
            for start in stride(from: 0, to: remotes.count, by: ClusterScripts.messageCountMax) {
                let part = Array(remotes[start...].prefix(ClusterScripts.messageCountMax))
                let call = partitions[partition].calls.positions(of: part.map(\.channel))
                send(call, to: partition, as: .compare(part))
            }
        }
    }

    /// Whether the node has received everything of a channel that has positions.
    private func isComparable(_ remote: RemoteChannel) -> Bool {
        remotes[remote.address] === remote && remote.isCurrent && remote.attaching == nil
            && rule(of: remote.address, context.registry.apps[remote.address.app]) != nil
    }

    func compared(_ reply: borrowing RESPView, _ channels: [RemoteChannel]) {
        guard let positions = StreamPositions(reply), positions.newest.count == channels.count,
            let partition = channels.first?.partition,
            // The next heartbeat finds another epoch.
            positions.since == partitions[partition].epoch?.since
        else { return }
        for (remote, newest) in zip(channels, positions.newest)
        where isComparable(remote) && remote.position != newest { lookForMissed(on: remote) }
    }
}
