/// A broker with a broken archive, for testing that the simulation detects it.
package enum ArchiveVariant: String, CaseIterable, Sendable {
    /// Behind a loss of power, streams go on under their IDs although the end is missing.
    case oldID
    /// What must be synced is not, and the IDs stay.
    case unsynced
    /// Messages are released before they are written.
    case releasedEarly
    /// Triggers are answered before their events are written.
    case answeredEarly
    /// Idempotency keys are not read back.
    case forgottenKey
    /// A stream goes on one number too low or too high behind a restart.
    case serialReused, serialSkipped
    /// What is read for a replay lacks its first or its last message.
    case pageWithoutFirst, pageWithoutLast
    /// What is written still counts as waiting.
    case leakedBudget

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .oldID, .unsynced, .releasedEarly: [.durability, .serials, .recovery, .honesty]
        case .answeredEarly: [.durability]
        case .leakedBudget: [.budgets]
        case .forgottenKey: [.repeats]
        case .serialReused: [.serials, .durability, .recovery, .honesty]
        case .serialSkipped: [.durability, .recovery, .honesty, .serials]
        case .pageWithoutFirst, .pageWithoutLast: [.recovery, .honesty, .durability]
        }
    }
}
