import Broker
import PusherProtocol
import RESP
import Redis
import Shard

// The outcomes of messages: from Redis to their publishers.
extension ClusterPublisher {
    fileprivate func published(
        _ reply: borrowing RESPView,
        _ messages: [OutgoingMessage],
        on store: ClusterStore
    ) {
        if let error = RedisError(reply) {
            for message in messages { settle(message, .refused(error), on: store) }
        } else {
            var index = 0
            reply.forEach { element in
                guard index < messages.count else { return countEvictions(element) }
                if let outcome = PublishOutcome(element) {
                    settle(messages[index], outcome, on: store)
                } else {
                    partitions.refused("the reply to a publication", by: store)
                    refuse(messages[index], .unanswered)
                }
                index += 1
            }
            for message in messages.dropFirst(index) { refuse(message, .unanswered) }
        }
        if store.outbox.isReopening {
            store.outbox.sendReopened { store.isUnanswered($0) }
        }
    }

    private func countEvictions(_ element: borrowing RESPView) {
        guard let evictions = PublishEvictions(element) else { return }
        if evictions.messagesOfApps > 0 { context.limitMet(.appRetainedBytes) }
        if evictions.messagesOfAll > 0 { context.limitMet(.retainedBytesTotal) }
        if evictions.keys > 0 { context.limitMet(.idempotencyKeys) }
        if evictions.cachedEvents > 0 { context.limitMet(.cachedEvents) }
        partitions.forgotPositions(evictions.streams)
    }

    /// Called when all calls of a batch are answered.
    fileprivate func publishedPlainly(_ batch: PlainBatch, on store: ClusterStore) {
        if batch.isRedirected { return comeBack(batch.messages) }
        let outcome = batch.error.map { PublishOutcome.refused($0) } ?? .counted
        for message in batch.messages { settle(message, outcome, on: store) }
    }

    /// Reports the outcome of a message.
    private func settle(
        _ message: OutgoingMessage,
        _ outcome: PublishOutcome,
        on store: ClusterStore
    ) {
        switch outcome {
        case .stale where partitions[message.partition].store !== store:
            comeBack([message.reopened])
        case .stale: store.outbox.reopen(message)
        case .refused(let error) where error.code == .conflict: report(.conflicting, of: message)
        case .refused(let error):
            // If a part of a batch was redirected, the outcome of the others is unknown.
            let isRefused = error.isRefusal && !error.isRedirection
            refuse(message, isRefused ? .refused(error.text) : .unanswered)
        case .outdated(let last):
            report(.outdated(last.flatMap { ChannelPosition($0) }), of: message)
        case .counted, .numbered, .placed, .repeated:
            guard let replicas = store.replicas else { return finish(message, outcome) }
            replicas.append(message, outcome)
        }
    }

    /// Reports that a message is published.
    func finish(_ message: OutgoingMessage, _ outcome: PublishOutcome) {
        let position: StreamPosition?
        var isRepeated = false
        switch outcome {
        case .stale, .refused, .outdated, .counted: position = nil
        case .numbered(let serial):
            guard case .id(let stream) = message.message.stream else {
                return refuse(message, .unanswered)
            }
            position = StreamPosition(stream: stream, serial: serial)
        case .placed(let placed): position = placed
        case .repeated(let former): (position, isRepeated) = (former, true)
        }
        let (event, address) = (message.proposal.event, message.address)
        if !isRepeated {
            context.publishedCount &+= 1
            context.notify(event.publishedKind, on: address, event.published)
        }
        if event.receiptKey != nil {
            // The announcement has no receipt for the author, unlike a frame between shards.
            report(.repeated, of: message)
        } else if event.key != nil || event.needsPosition {
            let position = position.flatMap { ChannelPosition($0) }
            report(
                .published(event, on: address.name, at: position, isRepeated: isRepeated),
                of: message
            )
        } else {
            report(.accepted, of: message)
        }
    }

    /// Reports that a message is not published, or that its outcome is unknown.
    func refuse(_ message: OutgoingMessage, _ refusal: ClusterRefusal) {
        report(.unavailable(message.isUncertain ? .unanswered : refusal), of: message)
    }

    private func report(_ outcome: PendingTrigger.Outcome, of message: OutgoingMessage) {
        service.outcomes.settle(message.proposal, outcome, at: message.address)
    }

    // MARK: - Connections and partitions that are lost

    /// Called with the messages that a lost store has not answered, in their order.
    func lost(_ messages: [OutgoingMessage], by store: ClusterStore) {
        store.outbox.lost(own(messages, of: store)) { refuse($0, .unanswered) }
    }

    /// The messages of a lost store whose partition it still has.
    private func own(_ messages: [OutgoingMessage], of store: ClusterStore) -> [OutgoingMessage] {
        guard partitions.slots != nil else { return messages }
        var own: [OutgoingMessage] = []
        for var message in messages {
            guard partitions[message.partition].store !== store else {
                own.append(message)
                continue
            }
            guard message.isRepeatable else {
                refuse(message, .unanswered)
                continue
            }
            message.isUncertain = true
            comeBack([message])
        }
        return own
    }

    /// Takes back messages that a store has certainly not published, for the store that has their partition now.
    func comeBack(_ messages: [OutgoingMessage]) {
        for message in messages {
            let store = partitions[message.partition].store
            guard store.transit == nil else {
                store.transit?.returned.append(message)
                continue
            }
            store.outbox.append(message)
        }
    }
}

/// A call that publishes messages by a script.
struct PublishCall: StoreCall {
    unowned let publisher: ClusterPublisher
    let messages: [OutgoingMessage]

    var endsBatch: Bool { true }

    var isFromAny: Bool { true }

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {
        publisher.published(reply, messages, on: store)
    }

    func redirected(by error: RedisError, from store: ClusterStore) { publisher.comeBack(messages) }
}

/// One of the calls that publish messages without a script.
struct PlainCall: StoreCall {
    unowned let publisher: ClusterPublisher
    let batch: PlainBatch
    /// Whether it is the last one.
    let endsBatch: Bool

    var messages: [OutgoingMessage] { endsBatch ? batch.messages : [] }

    var isFromAny: Bool { true }

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {
        checked(RedisError(reply), store)
    }

    func redirected(by error: RedisError, from store: ClusterStore) { checked(error, store) }

    private func checked(_ error: RedisError?, _ store: ClusterStore) {
        batch.check(error)
        if endsBatch { publisher.publishedPlainly(batch, on: store) }
    }
}
