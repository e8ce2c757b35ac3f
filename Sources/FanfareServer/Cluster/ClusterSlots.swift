import Net
import RESP
import Redis

// A Redis Cluster: each partition is at the primary of its slot, and moves with it.
extension ClusterHome: RedisClusterWatchDelegate {
    /// The scripts that announce messages in the way the servers require.
    var scripts: ClusterScripts { slots == nil ? settings.scripts : settings.shardedScripts }

    /// Called when the configured servers belong to a Redis Cluster, from which all others are discovered.
    func joinRedisCluster() {
        slots = RedisClusterWatch(
            .init(seeds: settings.stores.map(\.url), connection: settings.connection),
            tls: settings.tls,
            on: context.reactor,
            delegate: self
        )
        let seeds = stores
        for index in partitions.indices {
            partitions[index].calls = PartitionCalls(
                node: settings.node,
                keys: partitions[index].calls.keys.ofOwnPool,
                scripts: scripts
            )
            interrupt(index, Interruption())
        }
        for seed in seeds { seed.retire() }
        stores.removeAll(where: \.isRetired)
    }

    func redisCluster(_ watch: RedisClusterWatch, has map: SlotMap) {
        for index in partitions.indices {
            guard let server = map.server(of: partitions[index].calls.keys) else { continue }
            let store = partitions[index].store
            guard store.transit != nil || store.address.url.location != server else { continue }
            // The former server reports whether the slot has moved, unless it is lost or was replaced.
            if store.transit == nil, store.isOpen { store.sendHeartbeat(in: index) }
            interrupt(index, Interruption(target: server))
        }
        continueMoves()
    }

    // MARK: - Replies

    /// Receives the reply to a call on a partition, which may have moved to another store meanwhile.
    func received(
        _ reply: borrowing RESPView,
        to call: ClusterStore.Unanswered,
        inRedisCluster store: ClusterStore
    ) {
        if reply.isError, let error = RedisError(reply), error.isRedirection {
            return redirected(call, by: error, from: store)
        }
        guard let index = call.partition, partitions[index].store !== store else {
            return received(reply, to: call.purpose, on: store)
        }
        switch call.purpose {
        case .publish, .plainPart, .plainEnd, .query, .list:
            received(reply, to: call.purpose, on: store)
        case .register:
            // Of the store to which the partition is on its way.
            guard partitions[index].store.transit?.probed === store else { return }
            received(reply, to: call.purpose, on: store)
            if partitions[index].store === store { goOn(behindMoveOf: index, to: store) }
        default: passOver(call.purpose, in: index, of: store)
        }
    }

    /// Called with a call whose reply is not used: its purpose is repeated at the partition's next store.
    private func passOver(_ call: ClusterCall, in index: Int, of store: ClusterStore) {
        switch call {
        case .heartbeat: store.replicas?.announced()
        case .session: partitions[index].store.transit?.sessionCalls.append(call)
        default: giveUp(call)
        }
    }

    /// Called when a server refuses a call because it has the slot only partly or not at all.
    private func redirected(
        _ call: ClusterStore.Unanswered,
        by error: RedisError,
        from store: ClusterStore
    ) {
        guard let index = call.partition else { return }
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
        switch call.purpose {
        case .publish(let messages): comeBack(messages)
        case .plainPart(let batch): batch.check(error)
        case .plainEnd(let batch):
            batch.check(error)
            publishedPlainly(batch, on: store)
        case .register:
            guard partitions[index].store.transit?.probed === store else { return }
            partitions[index].store.transit?.probed = nil
            if target == nil { partitions[index].store.transit?.target = nil }
        default: passOver(call.purpose, in: index, of: store)
        }
    }

    /// Has the map read again because of an error, and returns the server that has the slot now; `nil` if it has not
    /// moved.
    private func follow(_ error: RedisError, from store: ClusterStore) -> RedisURL.Location? {
        guard let redirection = Redirection(error, from: store.address.url),
            redirection.kind == .moved
        else {
            slots?.refresh()
            return nil
        }
        slots?.follow(redirection)
        return redirection.server
    }

    // MARK: - Subscriptions

    /// Subscribes to pub/sub channels of a partition, and returns whether the call was sent.
    @discardableResult
    func subscribe(to topics: [String], in partition: Int) -> Bool {
        let isSharded = slots != nil
        return send(to: partition, as: nil) { connection throws(RedisCallError) in
            try connection.subscribe(to: topics, isSharded: isSharded)
        }
    }

    /// Ends the subscriptions to pub/sub channels of a partition.
    func unsubscribe(from topics: [String], in partition: Int) {
        let isSharded = slots != nil
        let isSent = send(to: partition, as: nil) { connection throws(RedisCallError) in
            try connection.unsubscribe(from: topics, isSharded: isSharded)
        }
        guard isSent, isSharded else { return }
        let store = partitions[partition].store
        for topic in topics { store.endings[topic, default: (partition, 0)].count += 1 }
    }

    /// Called when a server refuses a subscription, or its end.
    func subscriptionRefused(_ error: RedisError, by store: ClusterStore) {
        // The call after it is redirected, too.
        guard slots != nil, error.isRedirection else {
            store.refusesSubscriptions = true
            store.status.failed(store.reason("SUBSCRIBE: \(error.text)"))
            store.connection?.close()
            return
        }
        slots?.refresh()
    }

    /// Called when a server has ended the subscription to a pub/sub channel.
    func subscriptionEnded(to topic: String, at store: ClusterStore) {
        if let ending = store.endings[topic] {
            store.endings[topic] = ending.count > 1 ? (ending.partition, ending.count - 1) : nil
            return
        }
        guard slots != nil,
            let index = topics[topic]?.partition ?? sessions.inboxes[topic]
                ?? users[topic].map({ partition(of: $0.address) }),
            partitions[index].store === store || partitions[index].store.transit?.origin === store
        else { return }
        interrupt(index, Interruption(isSaidByOrigin: true, hasMoved: true))
        slots?.refresh()
    }
}
