import Broker
import Net
import Primitives
import PusherProtocol
import Redis
import Shard

/// Publishes the events of a shard: from their channel's home to its store, and their outcomes to their publishers.
final class ClusterPublisher {
    let partitions: Partitions
    private let rules: SharedRules
    private let shares: KeptShares
    private let remotes: RemoteChannels
    // The service owns this object.
    unowned let service: ChannelService

    init(
        _ partitions: Partitions,
        _ rules: SharedRules,
        _ shares: KeptShares,
        _ remotes: RemoteChannels,
        _ service: ChannelService
    ) {
        (self.partitions, self.rules, self.shares) = (partitions, rules, shares)
        (self.remotes, self.service) = (remotes, service)
    }

    var context: ShardContext { partitions.context }

    /// Sends an event to Redis, and returns the outcome if it is refused at once; otherwise `publisher` gets it later.
    func publish(
        _ event: ProposedEvent,
        on address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome? {
        let length = event.envelopeLength(for: address.name)
        let partition = partitions.index(of: address)
        let store = partitions[partition].store
        if let refusal = refusal(of: length, by: store) { return .unavailable(refusal) }
        let app = context.registry.apps[address.app]
        let rule = rules.recovery(of: address, app)
        let stream = event.isNumbered(by: rule) ? self.stream(of: address, rule) : .none
        // An event without a position is after none.
        if event.ifPosition != nil, stream == .none { return .outdated(nil) }
        let message = ClusterMessage(
            on: ClusterChannel(app: address.app.text, name: address.name.text),
            in: stream,
            lengthMax: lengthMax(of: address, rule, messageLength: length),
            budgets: budgets(of: app, in: partition),
            entry: entry(of: event, on: address.name, length: length),
            idempotency: idempotency(of: event, on: address, of: app),
            caching: event.cached == nil ? nil : caching(on: address, app),
            webhook: webhook(of: event, on: address),
            ifLastIs: event.ifPosition.map {
                // A position of another form belongs to no stream.
                StreamPosition($0) ?? StreamPosition(stream: 0, serial: 0)
            }
        )
        var outgoing = OutgoingMessage(
            proposal: Proposal(event, by: publisher()),
            address: address,
            partition: partition,
            message: message
        )
        let needsStream = rule?.keep == .always || event.needsPosition
        outgoing.opens = needsStream && stream == .unknown
        store.outbox.append(outgoing)
        return nil
    }

    /// The reason why a message cannot even wait, if any.
    private func refusal(of length: Int, by store: ClusterStore) -> ClusterRefusal? {
        if let downSince = store.downSince,
            downSince.duration(to: context.reactor.now) >= partitions.settings.patience
        {
            return .disconnected
        }
        let byteCount = partitions.stores.reduce(0) { $0 + $1.waitingByteCount }
        guard byteCount + length > partitions.settings.queuedBytesMax else { return nil }
        context.limitMet(.clusterQueuedBytes)
        return .full
    }

    private func stream(of address: ChannelAddress, _ rule: RecoveryRule?) -> ClusterMessage.Stream
    {
        guard rule != nil else { return .none }
        return remotes[address]?.position.map { .id($0.stream) } ?? .unknown
    }

    /// The number of messages that the channel keeps, which bounds their size as well.
    private func lengthMax(
        of address: ChannelAddress,
        _ rule: RecoveryRule?,
        messageLength: Int
    ) -> Int {
        guard let rule else { return 0 }
        var mean = messageLength
        if let index = service.state.streams.index(of: address) {
            let stream = service.state.streams[index]
            if stream.retainedCount > 0 { mean = stream.retainedByteCount / stream.retainedCount }
        }
        return min(rule.messagesMax, max(1, rule.bytesMax / max(mean, 1)))
    }

    private func budgets(of app: App?, in partition: Int) -> ClusterMessage.Budgets {
        ClusterMessage.Budgets(
            appBytesMax: app?.recovery.retainedBytesMax
                .map { shares.share(of: $0, \.bytes, of: app?.id, in: partition) },
            bytesMax: shares.share(
                of: context.settings.retainedBytesMax,
                \.bytes,
                of: nil,
                in: partition
            ),
            positionsMax: rules.positionsMax(of: app, in: partition)
        )
    }

    private func idempotency(
        of event: ProposedEvent,
        on address: ChannelAddress,
        of app: App?
    ) -> ClusterMessage.Idempotency? {
        guard let key = event.key, let app, app.limits.idempotencyKeysMax > 0 else { return nil }
        return ClusterMessage.Idempotency(
            // A trigger on several channels has one key.
            key: "\(address.name.text):\(key.text)",
            digest: String(event.digest, radix: 16),
            age: max(1, app.features.idempotencyAge),
            keysMax: shares.share(
                of: app.limits.idempotencyKeysMax,
                \.keys,
                of: app.id,
                in: partitions.index(of: address)
            )
        )
    }

    private func caching(on address: ChannelAddress, _ app: App?) -> ClusterMessage.Caching? {
        guard address.name.kind.isCache, let app, app.limits.cachedEventsMax > 0 else { return nil }
        let count = partitions.settings.partitionCount
        return ClusterMessage.Caching(
            lifetime: max(1, app.features.cacheLifetime),
            eventsMax: (app.limits.cachedEventsMax + count - 1) / count
        )
    }

    /// Writes `KIND EXCEPT TIME BODY`.
    private func entry(
        of event: ProposedEvent,
        on channel: ChannelName,
        length: Int
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 48)
        switch event {
        case .publication: bytes.append("e ")
        case .clientEvent: bytes.append("c ")
        }
        if let except = event.except {
            bytes.append(contentsOf: "\(except)".utf8)
        } else {
            bytes.append(UInt8(ascii: "-"))
        }
        bytes.append(UInt8(ascii: " "))
        bytes.append(decimal: Int(context.reactor.unixMilliseconds))
        bytes.append(UInt8(ascii: " "))
        event.appendEnvelope(for: channel, to: &bytes)
        return bytes
    }

    /// The webhook body of a client event; `nil` if no endpoint requests it.
    private func webhook(of event: ProposedEvent, on address: ChannelAddress) -> [UInt8]? {
        guard case .clientEvent = event else { return nil }
        let filters = context.registry.webhooks[address.app] ?? []
        guard filters.contains(where: { $0.accepts(.clientEvent, on: address.name) }) else {
            return nil
        }
        return WebhookBody.object(event.published, on: address.name)
    }

    // MARK: - The turn

    /// Sends the messages of a turn, and returns whether there were any.
    @discardableResult
    func dispatch() -> Bool {
        var wereAny = false
        for store in partitions.stores {
            if sendMessages(to: store) { wereAny = true }
            if store.replicas?.request() == true { wereAny = true }
        }
        return wereAny
    }

    /// The number of messages that wait for Redis, or for its replicas.
    var waitingCount: Int {
        partitions.stores.reduce(0) { count, store in
            count + store.outbox.count + (store.replicas?.count ?? 0)
                + (store.transit?.returned.count ?? 0)
        }
    }
}
