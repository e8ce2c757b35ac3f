import Broker
import RESP
import Redis
import Shard

// The queues of webhooks of the partitions that this node leads.
extension PartitionLeader {
    /// The time for which completed webhooks are collected.
    private static var settlingTime: Duration { .milliseconds(20) }

    /// The event that a record of the queue describes; `nil` if the app is unknown or has no webhooks.
    func queuedEvent(_ record: WebhookRecord, in queue: Int) -> QueuedEvent? {
        guard let address = rules.address(of: record.channel),
            context.registry.webhooks[address.app] != nil
        else { return nil }
        let rest = String(decoding: record.rest, as: UTF8.self)
        let content: QueuedEvent.Content
        switch record.kind {
        case .occupied: content = .event(.occupied)
        case .vacated: content = .event(.vacated)
        case .added: content = .event(.memberAdded(UserID(rest)))
        case .removed: content = .event(.memberRemoved(UserID(rest)))
        case .miss: content = .event(.cacheMiss)
        case .count:
            guard let count = Int(rest) else { return nil }
            content = .event(.subscriptionCount(count))
        case .client: content = .clientEvent(record.rest)
        }
        return QueuedEvent(
            id: QueuedEvent.ID(queue: queue, stream: record.id.stream, serial: record.id.serial),
            time: record.time,
            address: address,
            content: content
        )
    }

    // MARK: - Completion

    /// Called when a webhook was delivered to all of its endpoints, or abandoned.
    func settle(_ id: QueuedEvent.ID, isDelivered: Bool) {
        settle(
            StreamPosition(stream: id.stream, serial: id.serial),
            of: id.queue / context.shardCount,
            isDelivered: isDelivered
        )
    }

    func settle(_ id: StreamPosition, of index: Int, isDelivered: Bool) {
        settled[index][id] = isDelivered
        settling.schedule(after: Self.settlingTime)
    }

    /// Removes the completed webhooks from Redis.
    func sendSettled() {
        for index in partitions.indices where !settled[index].isEmpty {
            let some = settled[index].prefix(ClusterScripts.messageCountMax)
            let call = partitions[index].calls.settle(
                delivered: some.filter(\.value).map(\.key),
                dead: some.filter { !$0.value }.map(\.key)
            )
            let ids = some.map(\.key)
            partitions.send(call, to: index) { [self] reply in removed(reply, ids, in: index) }
        }
    }

    private func removed(_ reply: borrowing RESPView, _ ids: [StreamPosition], in index: Int) {
        // Webhooks that could not be removed are removed by the next call.
        let isDone = RedisError(reply) == nil
        if isDone { for id in ids { settled[index][id] = nil } }
        if !settled[index].isEmpty {
            settling.schedule(after: isDone ? Self.settlingTime : .seconds(1))
        }
    }
}
