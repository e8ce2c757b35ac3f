import PusherProtocol

/// Whether a subscription continues without loss from what the client received before.
///
/// ``Channel/onContinuity(perform:)`` reports it at each confirmation of a subscription,
/// before the events that follow. They report a gap when the position of ``Channel/subscribe(from:rewind:fresh:)`` is
/// before that of a channel that is subscribed already.
public enum Continuity: Sendable, Hashable {
    /// The subscription is new. Load the current state.
    case began
    /// The subscription is new; the earlier events that it asked for come first (``Rewind``).
    ///
    /// `isComplete` is `false` if the broker has kept fewer.
    case rewound(count: Int, isComplete: Bool)
    /// Nothing is missing: the missed events come next, then live ones.
    case resumed(replayed: Int)
    /// Events are or may be missing. Load the current state.
    case gap(Gap)
    /// The broker keeps no events for clients that reconnect. Load the current state.
    case unknown
}

/// Earlier events that a new subscription asks for, counted back from the present.
///
/// The broker must allow it for the channel (`rewind: true`), and sends as many events as it keeps.
public enum Rewind: Sendable, Hashable {
    /// This many of the latest events; at least 1.
    case count(Int)
    /// The events of this many seconds; at least 1.
    case seconds(Int)
}

extension Continuity {
    var isResumed: Bool { if case .resumed = self { true } else { false } }

    /// Returns the gap to report to the sequences of a channel that was subscribed before, or now for the first time.
    func gap(isAgain: Bool) -> Gap? {
        switch self {
        case .gap(let gap): gap
        case .unknown where isAgain: Gap(.brokerHasNoHistory)
        case .unknown, .began, .rewound, .resumed: nil
        }
    }
}

extension Gap {
    /// The gap that a broker reports.
    init(_ gap: RecoveryGap) {
        self.init(
            Reason(gap.reason.rawValue),
            missed: gap.missed.flatMap { Int(exactly: $0) }
        )
    }
}
