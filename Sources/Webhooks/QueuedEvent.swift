public import Broker
internal import PusherProtocol
internal import Synchronization

/// An event that another queue, in a cluster Redis, keeps until its webhooks are delivered or abandoned.
///
/// The file does not store it. ``WebhookSettings/settled`` is called when the other queue may drop it. Until then it
/// may be sent again, under the same ID, also by another node.
public struct QueuedEvent: Sendable {
    /// The identity of an event, unique on all nodes and permanent.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
        /// The number of the queue.
        public let queue: Int
        /// The event's place in the queue.
        public let stream: UInt64
        /// The event's place in the stream.
        public let serial: UInt64

        /// Creates the ID of an event.
        public init(queue: Int, stream: UInt64, serial: UInt64) {
            (self.queue, self.stream, self.serial) = (queue, stream, serial)
        }

        /// The ID in the `X-Fanfare-Webhook-ID` of its requests.
        public var description: String { "\(queue)-\(stream)-\(serial)" }
    }

    /// The content of an event.
    public enum Content: Sendable {
        /// An event other than a client's.
        case event(ChannelEvent)
        /// A client event, as written by ``WebhookBody/object(_:on:)``.
        case clientEvent([UInt8])
    }

    /// The event's identity.
    public let id: ID
    /// When it happened, in milliseconds since 1970; it is the `time_ms` of a request.
    public let time: Int64
    /// The channel.
    public let address: ChannelAddress
    /// The content.
    public let content: Content

    /// Creates an event.
    public init(id: ID, time: Int64, address: ChannelAddress, content: Content) {
        (self.id, self.time, self.address, self.content) = (id, time, address, content)
    }
}

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

extension Webhooks {
    /// Sends the webhooks of events, in their order; an event in progress is not sent twice.
    ///
    /// It takes a short lock and never waits. The caller limits the events in progress by ``queuedEventCount``.
    public func send(_ events: [QueuedEvent]) {
        guard !events.isEmpty else { return }
        queuedEvents.post(events.map { .event($0) })
        dispatcher.wake()
    }

    /// Stops sending the webhooks of events from these queues, which another node may have taken over.
    ///
    /// Requests in flight are completed, and not repeated.
    public func withdraw(queues: Set<Int>) {
        guard !queues.isEmpty else { return }
        queuedEvents.post([.withdrawal(queues: queues)])
        dispatcher.wake()
    }

    /// The number of sent events that are not processed yet.
    public var queuedEventCount: Int { queuedEvents.count }
}

/// Events of other queues: the number of their open requests, and their completion.
extension Dispatcher {
    func process(_ message: QueuedEventInbox.Message) {
        switch message {
        case .event(let event): notify(event)
        case .withdrawal(let queues): withdraw(queues)
        }
    }

    private func notify(_ event: QueuedEvent) {
        let (id, name) = (event.id, event.address.name)
        withdrawnQueues.remove(id.queue)
        guard openRequests[id] == nil else { return }
        // One more than there are, so that no request completes the event before all are counted.
        openRequests[id] = OpenRequests(count: 1)
        switch event.content {
        case .clientEvent(let object):
            distribute(.clientEvent, on: event.address, from: event) { object }
        case .event(let content):
            guard let kind = WebhookKind(content) else { break }
            distribute(kind, on: event.address, from: event) {
                WebhookBody.object(content, on: name)
            }
        }
        settle([id], isDelivered: true)
    }

    /// Records that the request of events to one endpoint has ended.
    func settle(_ ids: [QueuedEvent.ID], isDelivered: Bool) {
        for id in ids {
            guard var requests = openRequests[id] else { continue }
            requests.count -= 1
            if !isDelivered { requests.areDelivered = false }
            guard requests.count == 0 else {
                openRequests[id] = requests
                continue
            }
            openRequests[id] = nil
            settings.settled(id, requests.areDelivered)
        }
    }

    /// Whether another node sends a webhook again.
    func isWithdrawn(_ delivery: Delivery) -> Bool {
        !delivery.origins.isEmpty
            && delivery.origins.allSatisfy { withdrawnQueues.contains($0.queue) }
    }

    private func withdraw(_ queues: Set<Int>) {
        withdrawnQueues.formUnion(queues)
        for key in Array(states.keys) {
            for delivery in states[key]?.backlog.removeWaiting(where: isWithdrawn) ?? [] {
                forget(delivery.origins)
            }
        }
    }

    /// Forgets events that another node sends.
    func forget(_ ids: [QueuedEvent.ID]) {
        for id in ids { openRequests[id] = nil }
    }

    /// The requests of one event, one for each endpoint.
    struct OpenRequests: Sendable {
        var count: Int
        var areDelivered = true
    }
}
