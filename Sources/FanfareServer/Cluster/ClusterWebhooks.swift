import Broker
import Net
import PusherProtocol
import RESP
import Redis
import Webhooks

// Webhooks: the scripts record the events that an app's endpoints request, once for all nodes. The leader's dispatcher
// sends them, and Redis keeps them until then.
extension ClusterHome {
    /// The time for which completed webhooks are collected.
    private static var settlingTime: Duration { .milliseconds(20) }

    // MARK: - Recording

    /// The changes of a channel that webhooks report.
    func reportedChanges(of address: ChannelAddress) -> ChannelRules.Webhooks {
        var changes: ChannelRules.Webhooks = []
        guard address.name.kind != .serverToUser else { return changes }
        for endpoint in context.registry.webhookEndpoints[address.app] ?? [] {
            for kind in endpoint.kinds where endpoint.accepts(kind, on: address.name) {
                switch kind {
                // An arrival cancels a departure, so both are recorded.
                case .channelOccupied, .channelVacated: changes.insert(.occupancy)
                case .memberAdded, .memberRemoved: changes.insert(.members)
                case .cacheMiss: changes.insert(.cacheMisses)
                case .subscriptionCount: changes.insert(.counts)
                case .clientEvent: break
                }
            }
        }
        return changes
    }

    /// The webhook body of a client event; `nil` if no endpoint requests it.
    func webhook(of event: ProposedEvent, on address: ChannelAddress) -> [UInt8]? {
        guard case .clientEvent = event else { return nil }
        let endpoints = context.registry.webhookEndpoints[address.app] ?? []
        guard endpoints.contains(where: { $0.accepts(.clientEvent, on: address.name) }) else {
            return nil
        }
        return WebhookBody.object(event.published, on: address.name)
    }

    /// The event that a record of the queue describes; `nil` if the app is unknown or has no webhooks.
    func queuedEvent(_ record: WebhookRecord, in queue: Int) -> QueuedEvent? {
        guard let address = address(of: record.channel),
            context.registry.webhookEndpoints[address.app] != nil
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
        partitions[index].settled[id] = isDelivered
        startTimer(.settling, after: Self.settlingTime)
    }

    /// Removes the completed webhooks from Redis.
    func sendSettled() {
        for index in partitions.indices where !partitions[index].settled.isEmpty {
            let some = partitions[index].settled.prefix(ClusterScripts.messageCountMax)
            let call = partitions[index].calls.settle(
                delivered: some.filter(\.value).map(\.key),
                dead: some.filter { !$0.value }.map(\.key)
            )
            send(call, to: index, as: .settle(partition: index, some.map(\.key)))
        }
    }

    func settled(_ reply: borrowing RESPView, _ ids: [StreamPosition], in index: Int) {
        // Webhooks that could not be removed are removed by the next call.
        let isDone = RedisError(reply) == nil
        if isDone { for id in ids { partitions[index].settled[id] = nil } }
        if !partitions[index].settled.isEmpty {
            startTimer(.settling, after: isDone ? Self.settlingTime : .seconds(1))
        }
    }
}
