package import Broker
package import PusherProtocol

/// A backend's request some of whose events are not sequenced yet.
///
/// The request is answered when the homes of all its channels have sequenced its events. So every subscriber gets an
/// event that is triggered after the answer later than these, whichever loop receives the trigger.
///
/// Confined to the loop of the shard that received the request.
package final class PendingTrigger {
    /// The outcome of a request.
    package enum Outcome: Sendable {
        /// All of its events are sequenced.
        case accepted
        /// All of its events were published before, under the same idempotency keys.
        case repeated
        /// All of its events are sequenced, and positions were requested for some.
        ///
        /// Indirect, so that the outcome of nearly every trigger stays small.
        indirect case positioned(PublishedPositions)
        /// An event is not published, because another one was published under its idempotency key.
        case conflicting
        /// Its only event is not published, because the channel's last position is another one.
        indirect case outdated(ChannelPosition?)
        /// Its only event is not published, because a limit is reached at the home of the channel.
        case refused(Limit)
        /// An event is not published, because its channel's archive cannot be written.
        case unstored
        /// In a cluster: an event is not published, or it is unknown whether it is.
        indirect case unavailable(ClusterRefusal)
    }

    /// The request's number at the shard that received it.
    let number: UInt64
    /// Whether a home may refuse the event.
    ///
    /// It may only if the event is the only one, so that either all events of a request are published or none.
    let isRefusable: Bool
    private var openCount = 0
    /// The outcome of the events that are settled; `nil` before the first.
    private var outcome: Outcome?
    private var completion: ((Outcome) -> Void)?

    init(number: UInt64, isRefusable: Bool) {
        self.number = number
        self.isRefusable = isRefusable
    }

    /// Calls `completion` once, when the homes have reported the outcomes of all events.
    package func whenSettled(_ completion: @escaping (Outcome) -> Void) {
        assert(openCount > 0, "what is settled already needs no callback")
        self.completion = completion
    }

    /// Adds an event whose outcome is pending.
    func addEvent() { openCount += 1 }

    /// Records the outcome of an event that is already settled.
    func add(_ outcome: Outcome) { self.outcome = self.outcome?.combined(with: outcome) ?? outcome }

    /// Records the outcome of one event whose outcome was pending.
    ///
    /// - Returns: For the last event, the closure that completes the request.
    func settle(_ outcome: Outcome) -> (() -> Void)? {
        add(outcome)
        openCount -= 1
        guard openCount == 0, let completion = completion.take() else { return nil }
        return { [outcome = self.outcome ?? outcome] in completion(outcome) }
    }
}

extension PendingTrigger.Outcome {
    /// The outcome of one event on one channel that is published, or was before.
    package static func published(
        _ event: ProposedEvent,
        on channel: ChannelName,
        at position: ChannelPosition?,
        isRepeated: Bool
    ) -> PendingTrigger.Outcome {
        guard event.info.contains(.position) else {
            return isRepeated ? .repeated : .accepted
        }
        return .positioned(
            PublishedPositions(positions: [channel: [position]], isRepeated: isRepeated)
        )
    }

    /// The outcome of a request, combined from those of its events.
    func combined(with other: PendingTrigger.Outcome) -> PendingTrigger.Outcome {
        switch (self, other) {
        case (.refused, _), (.conflicting, _), (.outdated, _), (.unstored, _), (.unavailable, _):
            return self
        case (_, .refused), (_, .conflicting), (_, .outdated), (_, .unstored), (_, .unavailable):
            return other
        case (.repeated, .repeated): return .repeated
        case (.positioned, _), (_, .positioned):
            var all = positions
            all.positions.merge(other.positions.positions) { $0 + $1 }
            all.isRepeated = isRepeated && other.isRepeated
            return .positioned(all)
        case (.accepted, _), (_, .accepted): return .accepted
        }
    }

    /// Whether all events were published before.
    package var isRepeated: Bool {
        switch self {
        case .repeated: true
        case .positioned(let positions): positions.isRepeated
        case .accepted, .conflicting, .outdated, .refused, .unstored, .unavailable: false
        }
    }

    /// The positions of the events for which they were requested.
    package var positions: PublishedPositions {
        if case .positioned(let positions) = self { positions } else { PublishedPositions() }
    }
}

/// The positions of those events of a request for which they were requested.
package struct PublishedPositions: Sendable {
    /// The positions on each channel, in the order of its events; `nil` for an event without a number.
    var positions: [ChannelName: [ChannelPosition?]] = [:]
    /// Whether all events of the request were published before.
    var isRepeated = false

    /// Removes and returns the position of the next event on a channel.
    package mutating func popFirst(on channel: ChannelName) -> ChannelPosition? {
        guard positions[channel]?.isEmpty == false else { return nil }
        return positions[channel]?.removeFirst() ?? nil
    }
}

/// The triggers that one shard has received and not answered yet.
struct PendingTriggers {
    private var triggers: [UInt64: PendingTrigger] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of triggers.
    var count: Int { triggers.count }

    /// Creates and adds a trigger without events; see ``PendingTrigger/isRefusable``.
    mutating func begin(isRefusable: Bool) -> PendingTrigger {
        lastNumber += 1
        let trigger = PendingTrigger(number: lastNumber, isRefusable: isRefusable)
        triggers[lastNumber] = trigger
        return trigger
    }

    /// The trigger with this number, if it is not answered yet.
    subscript(number: UInt64) -> PendingTrigger? { triggers[number] }

    /// Removes all triggers.
    mutating func removeAll() { triggers = [:] }

    /// Removes a trigger whose last event is settled.
    mutating func remove(_ trigger: PendingTrigger) { triggers[trigger.number] = nil }
}

/// The address to which a home reports the outcome of an event that another shard has received.
package struct PublishReceipt: Sendable {
    /// The shard that received the request.
    let shard: Int
    /// The request's ``PendingTrigger/number``.
    package let number: UInt64
    /// See ``PendingTrigger/isRefusable``.
    let isRefusable: Bool
}
