import PusherProtocol

/// The relation between a subscription and what the client received before it.
///
/// Told with each confirmation of a subscription, ahead of the events that follow it:
/// ``Channel/onContinuity(perform:)`` and ``Channel/continuities()``.
public enum Continuity: Sendable, Hashable {
    /// The subscription is new. Load the current state.
    case began
    /// The subscription is new, and the earlier events that it asked for come first (``Rewind``); `isComplete` is `false` if
    /// the broker has kept fewer.
    case rewound(count: Int, isComplete: Bool)
    /// Nothing is missing: the next events are the ones that were missed, then live ones follow.
    case resumed(replayed: Int)
    /// Events are missing, or nobody can know. Load the current state.
    case gap(Gap)
    /// The broker keeps no events for clients that come back. Load the current state.
    case unknown
}

/// Earlier events that a new subscription asks for, counted back from the present.
///
/// The broker gives them where its rule for the channel has `rewind: true`, and as many as it keeps.
public enum Rewind: Sendable, Hashable {
    /// The last events; at least 1.
    case count(Int)
    /// The events of the last seconds; at least 1.
    case seconds(Int)
}

extension Gap {
    /// The gap that a broker reports.
    init(_ gap: RecoveryGap) {
        self.init(
            Reason(rawValue: gap.reason.rawValue),
            missed: gap.missed.flatMap { Int(exactly: $0) }
        )
    }
}
