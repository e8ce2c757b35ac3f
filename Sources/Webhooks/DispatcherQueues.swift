internal import Broker
internal import PusherProtocol

/// Events of other queues: the number of their open requests, and their completion.
extension Dispatcher {
    func process(_ message: QueuedEventMessage) {
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
        for state in endpoints.values {
            for delivery in state.backlog.removeWaiting(where: isWithdrawn) {
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

/// A message of the shards about events of other queues.
enum QueuedEventMessage: Sendable {
    /// Send its webhooks.
    case event(QueuedEvent)
    /// Another node sends the webhooks of these queues from now on.
    case withdrawal(queues: Set<Int>)
}
