import Broker
import Net
import PusherProtocol
import RESP
import Redis

/// Why a message is not published in a cluster.
package enum ClusterRefusal: Sendable, Hashable {
    /// Redis has been out of reach for longer than messages wait.
    case disconnected
    /// The connection has ended before the answer.
    case unanswered
    /// Too much waits for Redis.
    case full
    /// Redis has refused it, with this text.
    case refused(String)

    /// What the publisher is told.
    var text: String {
        switch self {
        case .disconnected:
            "Redis cannot be reached: an event of the request is not published, try again in a second"
        case .unanswered:
            "The connection to Redis was lost: it is unknown whether an event of the request is published; "
                + "with an idempotency_key it could be repeated without harm"
        case .full:
            "Too many events wait for Redis: an event of the request is not published, try again in a second"
        case .refused(let text):
            "Redis has refused an event of the request, which is not published: \(text)"
        }
    }
}

// What became of messages: from Redis to their publishers.
extension ClusterHome {
    func published(_ reply: borrowing RESPView, _ messages: [OutgoingMessage]) {
        if let error = RedisError(reply) {
            for message in messages { settle(message, .refused(error)) }
        } else {
            var index = 0
            reply.forEach { element in
                guard index < messages.count else { return }
                if let outcome = PublishOutcome(element) {
                    settle(messages[index], outcome)
                } else {
                    refuse(messages[index], .unanswered)
                }
                index += 1
            }
            for message in messages.dropFirst(index) { refuse(message, .unanswered) }
        }
        if outbox.isReopening { outbox.sendReopened(isUnanswered: isUnanswered) }
    }

    func publishedPlainly(_ reply: borrowing RESPView, _ batch: PlainBatch) {
        batch.check(reply)
        let outcome = batch.error.map { PublishOutcome.refused($0) } ?? .counted
        for message in batch.messages { settle(message, outcome) }
    }

    private func isUnanswered(_ address: ChannelAddress) -> Bool {
        calls.values.contains { call in
            guard case .publish(let messages) = call else { return false }
            return messages.contains { $0.address == address }
        }
    }

    /// Reports what became of a message.
    private func settle(_ message: OutgoingMessage, _ outcome: PublishOutcome) {
        let position: StreamPosition?
        var isRepeated = false
        switch outcome {
        case .stale: return outbox.reopen(message)
        case .refused(let error) where error.code == .conflict: return conflict(message)
        case .refused(let error):
            return refuse(message, error.isRefusal ? .refused(error.text) : .unanswered)
        case .counted: position = nil
        case .numbered(let serial):
            guard case .id(let stream) = message.message.stream else {
                return refuse(message, .unanswered)
            }
            position = StreamPosition(stream: stream, serial: serial)
        case .placed(let placed): position = placed
        case .repeated(let former): (position, isRepeated) = (former, true)
        case .outdated(let last):
            guard case .backend(_, let origin) = message.sender else { return }
            return channels.settle(origin, .outdated(last.flatMap { ChannelPosition($0) }))
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

    /// Reports that a message is not published, or that nobody knows.
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
                case .disconnected, .full, .refused:
                    "Client event rejected - \(name) cannot be published to at present, try again in a second"
                }
            channels.reply(.error(code: .clientEventRejected, message: text), to: author.socketID)
        }
    }
}
