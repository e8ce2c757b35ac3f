package import Broker
import PusherProtocol

/// An event that waits for the decision of its channel's home, and its publisher, which gets the outcome.
package struct Proposal {
    /// Who has proposed an event.
    package enum Publisher {
        /// A backend, by a request that the home's shard has received.
        case here(PendingTrigger)
        /// A backend, by a request that another shard has received.
        case elsewhere(PublishReceipt)
        /// The author of the client event.
        case author

        /// Whether the home may refuse the event; see ``PendingTrigger/isRefusable``.
        var isRefusable: Bool {
            switch self {
            case .here(let trigger): trigger.isRefusable
            case .elsewhere(let receipt): receipt.isRefusable
            case .author: false
            }
        }
    }

    package let event: ProposedEvent
    let publisher: Publisher

    package init(_ event: ProposedEvent, by publisher: Publisher) {
        self.event = event
        self.publisher = publisher
    }
}
