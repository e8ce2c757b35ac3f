import RESP
import Redis
import Shard

// A Redis Cluster: each partition is at the primary of its slot, and moves with it.
extension PartitionMoves: RedisClusterWatchDelegate {
    /// Called when the configured servers belong to a Redis Cluster, from which all others are discovered.
    func joinRedisCluster() {
        partitions.slots = RedisClusterWatch(
            .init(
                seeds: partitions.settings.stores.map(\.url),
                connection: partitions.settings.connection
            ),
            tls: partitions.settings.tls,
            on: partitions.context.reactor,
            delegate: self
        )
        let seeds = partitions.stores
        for index in partitions.indices {
            partitions[index].calls = PartitionCalls(
                node: partitions.settings.node,
                keys: partitions[index].calls.keys.ofOwnPool,
                scripts: partitions.scripts
            )
            interrupt(index, Interruption())
        }
        for seed in seeds { seed.retire() }
        partitions.stores.removeAll(where: \.isRetired)
    }

    func redisCluster(_ watch: RedisClusterWatch, has map: SlotMap) {
        for index in partitions.indices {
            guard let server = map.server(of: partitions[index].calls.keys) else { continue }
            let store = partitions[index].store
            guard store.transit != nil || store.address.url.location != server else { continue }
            // The former server reports whether the slot has moved, unless it is lost or was replaced.
            if store.transit == nil, store.isOpen { heartbeats.send(in: index, to: store) }
            interrupt(index, Interruption(target: server))
        }
        continueMoves()
    }

    // MARK: - Replies

    /// Receives the reply to a call on a partition, which may have moved to another store meanwhile.
    func received(
        _ reply: borrowing RESPView,
        to answered: ClusterStore.Unanswered,
        from store: ClusterStore
    ) {
        if reply.isError, let error = RedisError(reply), error.isRedirection {
            return redirected(answered, by: error, from: store)
        }
        if let index = answered.partition, partitions[index].store !== store {
            answered.call.received(reply, fromOther: store)
        } else {
            answered.call.received(reply, from: store)
        }
    }

    /// Called when a server refuses a call because it has the slot only partly or not at all.
    private func redirected(
        _ refused: ClusterStore.Unanswered,
        by error: RedisError,
        from store: ClusterStore
    ) {
        guard let index = refused.partition else { return }
        let present = partitions[index].store
        let isAsked = present === store || present.transit?.origin === store
        let target = follow(error, from: store)
        if isAsked || present.transit?.probed === store {
            // A server that is cut off from the others does not know the state of its slots.
            let isSaid = isAsked && error.code != .clusterDown
            interrupt(
                index,
                Interruption(target: target, isSaidByOrigin: isSaid, hasMoved: target != nil)
            )
        }
        refused.call.redirected(by: error, from: store)
    }

    /// Has the map read again because of an error, and returns the server that has the slot now; `nil` if it has not
    /// moved.
    private func follow(_ error: RedisError, from store: ClusterStore) -> RedisURL.Location? {
        guard let redirection = Redirection(error, from: store.address.url),
            redirection.kind == .moved
        else {
            partitions.slots?.refresh()
            return nil
        }
        partitions.slots?.follow(redirection)
        return redirection.server
    }

    // MARK: - Subscriptions

    /// Called when a server refuses a subscription, or its end.
    func subscriptionRefused(_ error: RedisError, by store: ClusterStore) {
        // The call after it is redirected, too.
        guard partitions.slots != nil, error.isRedirection else {
            store.refusesSubscriptions = true
            store.status.failed(store.reason("SUBSCRIBE: \(error.text)"))
            store.connection?.close()
            return
        }
        partitions.slots?.refresh()
    }

    /// Called when a server has ended the subscription to a pub/sub channel, of the partition with an index.
    func subscriptionEnded(to topic: String, of index: Int?, at store: ClusterStore) {
        if let ending = store.endings[topic] {
            store.endings[topic] = ending.count > 1 ? (ending.partition, ending.count - 1) : nil
            return
        }
        guard partitions.slots != nil, let index,
            partitions[index].store === store || partitions[index].store.transit?.origin === store
        else { return }
        interrupt(index, Interruption(isSaidByOrigin: true, hasMoved: true))
        partitions.slots?.refresh()
    }
}
