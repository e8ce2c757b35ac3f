/// A client with an injected bug of its leases, for testing that their simulation detects it.
package enum LeaseVariant: String, CaseIterable, Sendable {
    /// A later lease moves the position of the channel.
    case laterLeaseMoves
    /// A later lease begins where the channel is, whatever its position.
    case startIgnored
    /// A later lease that is behind the channel is not told so.
    case behindUntold
    /// A gap is told to the first reader of a channel alone.
    case gapToldOnce
    /// The position of a channel that was left is forgotten at once.
    case leftForgotten
    /// A fresh lease continues where the channel was left.
    case freshContinues
    /// A subscription continues one message early.
    case positionTooLow
    /// A subscription continues one message late.
    case positionTooHigh

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .laterLeaseMoves, .startIgnored: [.recovery, .repeats, .honesty]
        case .behindUntold, .gapToldOnce, .positionTooHigh: [.recovery]
        case .leftForgotten: [.recovery, .answers]
        case .freshContinues: [.repeats, .honesty, .recovery]
        case .positionTooLow: [.repeats]
        }
    }
}
