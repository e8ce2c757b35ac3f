internal import Broker
internal import Synchronization

/// The events of other queues in transit from the shards to the actor.
final class QueuedEventInbox: Sendable {
    /// A message to the actor.
    enum Message: Sendable {
        /// Send its webhooks.
        case event(QueuedEvent)
        /// Another node sends the webhooks of these queues from now on.
        case withdrawal(queues: Set<Int>)
    }

    private let messages = Mutex<[Message]>([])

    /// The number of messages.
    var count: Int { messages.withLock { $0.count } }

    /// Adds messages.
    func post(_ new: [Message]) { messages.withLock { $0 += new } }

    /// Removes all messages.
    func take() -> [Message] {
        messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}
