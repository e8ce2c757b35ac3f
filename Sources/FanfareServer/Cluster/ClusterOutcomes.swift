import Broker
import Net
import PusherProtocol
import RESP
import Redis

// The outcomes of messages: from Redis to their publishers.
extension ClusterHome {
    func published(
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
                    refused("the reply to a publication", by: store)
                    refuse(messages[index], .unanswered)
                }
                index += 1
            }
            for message in messages.dropFirst(index) { refuse(message, .unanswered) }
        }
        if store.outbox.isReopening {
            let isReordered = context.faults.contains(.reordersStale)
            store.outbox.sendReopened(isReordered: isReordered) { store.isUnanswered($0) }
        }
    }

    private func countEvictions(_ element: borrowing RESPView) {
        guard let evictions = PublishEvictions(element) else { return }
        if evictions.messagesOfApps > 0 { context.limitMet(.appRetainedBytes) }
        if evictions.messagesOfAll > 0 { context.limitMet(.retainedBytesTotal) }
        if evictions.keys > 0 { context.limitMet(.idempotencyKeys) }
        if evictions.cachedEvents > 0 { context.limitMet(.cachedEvents) }
        forgotPositions(evictions.streams)
    }

    /// Counts positions that Redis has dropped because of the limit of channels without subscribers.
    func forgotPositions(_ count: Int) {
        guard count > 0 else { return }
        counts.add(count, to: \.forgottenPositions)
        context.limitMet(.recoveryPositions)
    }

    func publishedPlainly(
        _ reply: borrowing RESPView,
        _ batch: PlainBatch,
        on store: ClusterStore
    ) {
        batch.check(reply)
        publishedPlainly(batch, on: store)
    }

    /// Called when all calls of a batch are answered.
    func publishedPlainly(_ batch: PlainBatch, on store: ClusterStore) {
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
        case .stale where self.store(of: message) !== store: comeBack([message.reopened])
        case .stale: store.outbox.reopen(message)
        case .refused(let error) where error.code == .conflict: conflict(message)
        case .refused(let error):
            // If a part of a batch was redirected, the outcome of the others is unknown.
            let isRefused = error.isRefusal && !error.isRedirection
            refuse(message, isRefused ? .refused(error.text) : .unanswered)
        case .outdated(let last):
            guard case .backend(_, let origin) = message.sender else { return }
            channels.settle(origin, .outdated(last.flatMap { ChannelPosition($0) }))
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
        if !isRepeated { context.publishedCount &+= 1 }
        let address = message.address
        switch message.sender {
        case .backend(let publication, let origin):
            if !isRepeated { context.notify(.published, on: address, .published(publication)) }
            guard publication.key != nil || publication.needsPosition else {
                return channels.settle(origin, .accepted)
            }
            let outcome = PendingTrigger.Outcome.published(
                publication,
                on: address.name,
                at: position.flatMap { ChannelPosition($0) },
                isRepeated: isRepeated
            )
            channels.settle(origin, outcome)
        case .client(let event, let author):
            if !isRepeated {
                context.notify(
                    .clientEvents,
                    on: address,
                    .clientEvent(event, sender: author.socketID, userID: author.user)
                )
            }
            if let key = event.key {
                channels.reply(
                    .receipt(channel: address.name.text, key: key.text),
                    to: author.socketID
                )
            }
        }
    }

    private func conflict(_ message: OutgoingMessage) {
        switch message.sender {
        case .backend(_, let origin): channels.settle(origin, .conflicting)
        case .client(let event, let author):
            guard let key = event.key else { return }
            channels.refuse(key, on: message.address, by: author)
        }
    }

    /// Reports that a message is not published, or that its outcome is unknown.
    func refuse(_ message: OutgoingMessage, _ refusal: ClusterRefusal) {
        let refusal = message.isUncertain ? .unanswered : refusal
        switch message.sender {
        case .backend(_, let origin): channels.settle(origin, .unavailable(refusal))
        case .client(_, let author):
            let name = message.address.name.text
            let text =
                switch refusal {
                case .unanswered:
                    "Client event on \(name) may not have been published - the connection to Redis was lost"
                case .unconfirmed:
                    "Client event on \(name) may be lost - too few replicas of Redis have confirmed it"
                case .disconnected, .full, .refused:
                    "Client event rejected - \(name) cannot be published to at present, try again in a second"
                }
            channels.reply(.error(code: .clientEventRejected, message: text), to: author.socketID)
        }
    }
}
