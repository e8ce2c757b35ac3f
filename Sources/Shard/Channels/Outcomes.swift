package import Broker
import Net
import PusherProtocol

/// The outcomes of events, from the channel's home to their publishers.
package final class Outcomes {
    private let context: ShardContext
    private let connections: Connections
    /// Triggers whose events are not all sequenced yet.
    var triggers = PendingTriggers()

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
    }

    /// Tells the publisher of an event what has become of it.
    package func settle(
        _ proposal: Proposal,
        _ outcome: PendingTrigger.Outcome,
        at address: ChannelAddress
    ) {
        switch proposal.publisher {
        case .here(let trigger): settle(trigger, outcome)
        case .elsewhere(let receipt):
            context.links.send(.published(number: receipt.number, outcome), to: receipt.shard)
        case .author:
            guard case .clientEvent(let event, let author) = proposal.event,
                let message = outcome.message(about: event, on: address.name)
            else { return }
            reply(message, to: author.socketID)
        }
    }

    /// Called when a home reports the outcome of an event that this shard received.
    func settle(_ number: UInt64, _ outcome: PendingTrigger.Outcome) {
        if let trigger = triggers[number] { settle(trigger, outcome) }
    }

    private func settle(_ trigger: PendingTrigger, _ outcome: PendingTrigger.Outcome) {
        guard let complete = trigger.settle(outcome) else { return }
        triggers.remove(trigger)
        complete()
    }

    /// Sends a message of a home to a client, which may be connected to another shard.
    private func reply(_ message: ServerMessage, to socketID: SocketID) {
        let shard = context.shard(of: socketID)
        guard shard != context.shard else { return receive(message, for: socketID) }
        context.links.send(.reply(message, to: socketID), to: shard)
    }

    /// Sends the reply of a home to a connection of this shard, which may have closed.
    func receive(_ message: ServerMessage, for socketID: SocketID) {
        connections[socketID]?.send(message)
    }

    // MARK: - Late refusals

    /// The delay of a refusal, so that a publisher that pipelines cannot cause constant work with refused requests.
    package static var refusalDelay: Duration { .seconds(1) }

    /// Refuses an event for lack of memory, after ``refusalDelay``: the caller does not wait for the outcome yet.
    func refuseLater(_ proposal: Proposal, at address: ChannelAddress) {
        context.reactor.schedule(
            after: Self.refusalDelay,
            LateRefusal(outcomes: self, proposal: proposal, address: address)
        )
    }

    /// An event that is refused for lack of memory when its timer fires.
    private final class LateRefusal: TimerTarget {
        private let outcomes: Outcomes
        private let proposal: Proposal
        private let address: ChannelAddress

        init(outcomes: Outcomes, proposal: Proposal, address: ChannelAddress) {
            self.outcomes = outcomes
            self.proposal = proposal
            self.address = address
        }

        func timerFired(tag: Int) {
            outcomes.context.limitMet(.inboundBytes)
            outcomes.settle(proposal, .refused(.inboundBytes), at: address)
        }
    }
}

extension PendingTrigger.Outcome {
    /// The message to the author of a client event; `nil` if there is none, or the receipt follows the event's way.
    fileprivate func message(about event: ClientEvent, on channel: ChannelName) -> ServerMessage? {
        func rejection(_ text: String) -> ServerMessage {
            .error(code: .clientEventRejected, message: text)
        }
        let key = event.key?.text
        switch self {
        case .accepted, .positioned, .outdated, .refused: return nil
        case .repeated: return key.map { .receipt(channel: channel.text, key: $0) }
        case .conflicting:
            return rejection(
                "Client event rejected - another event was sent to \(channel.text) under the key \(key ?? "")"
            )
        case .unstored:
            return rejection(
                "Client event rejected - \(channel.text) cannot be stored at present, try again in a second"
            )
        case .unavailable(let refusal):
            return rejection(refusal.text(ofClientEventOn: channel))
        }
    }
}
