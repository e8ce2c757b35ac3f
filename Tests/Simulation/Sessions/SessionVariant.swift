import PusherProtocol
import Shard

/// A broker with an injected bug of sessions, for testing that their simulation detects it.
package enum SessionVariant: String, CaseIterable, Sendable {
    /// What was written is taken for confirmed.
    case confirmedAtWriting
    /// The pong frames of a page's network layer confirm what the page has not processed.
    case confirmedByPongFrames
    /// The cursors of a superseded owner do not arrive.
    case lostYield
    /// Cursors of a former owner overwrite those of the last.
    case latePark
    /// A session that is not known is taken for new, also one that was evicted.
    case unknownTakenForNew, evictionUntold
    /// A gap, or a cached event, that is not confirmed is not told or sent again.
    case owedGapForgotten, owedOpeningForgotten
    /// What excludes a former connection is replayed.
    case forgottenExclusion
    /// Who has a cursor may subscribe.
    case resumeWithoutAuthorization
    /// A resumed subscription begins one message late, behind any connection or behind a kill alone.
    case cursorTooHigh, storedTooHigh
    /// Behind a kill, the sessions that were written are taken for all.
    case crashTakenForStop
    /// What waits for the next fan-out pass counts as handed over: a ping arrives ahead of the events before it.
    case waitingTakenForHandedOver
    /// What is dropped with the queue of a connection that reads too slowly counts as confirmed.
    case droppedTakenForConfirmed
    /// That a session was unknown is told to its first connection only.
    case unknownToldOnce
    /// That two living clients share a token is not told.
    case sharedUntold
    /// A home keeps more sessions than its limit.
    case oneSessionMore
    /// A client is asked behind a whole replay alone.
    case askedAtTheEndAlone
    /// The answer to a ping within a replay counts for all of the replay: the next ping arrives with that one.
    case partTakenForWhole
    /// The position of a channel that was left is forgotten at once.
    case leftForgotten

    /// Where a frame joins those that a page has not processed.
    func place(
        of frame: SimulatedClient.ReceivedFrame,
        among waiting: [SimulatedClient.ReceivedFrame]
    ) -> Int {
        guard case .message(.ping) = frame else { return waiting.count }
        switch self {
        case .waitingTakenForHandedOver:
            let last = waiting.lastIndex { if case .message(.event) = $0 { false } else { true } }
            return last.map { $0 + 1 } ?? 0
        case .partTakenForWhole:
            let first = waiting.firstIndex { if case .message(.ping) = $0 { true } else { false } }
            return first ?? waiting.count
        default: return waiting.count
        }
    }

    /// How clients are asked; `nil` for a choice by the seed.
    var confirmationPortions: ConfirmationPortions? {
        self == .askedAtTheEndAlone ? ConfirmationPortions(replayLengthMin: .max) : nil
    }

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .unknownTakenForNew: [.recovery, .answers]
        // A grant's cached event and its ping are one send.
        case .confirmedAtWriting, .waitingTakenForHandedOver: [.recovery, .cache]
        case .confirmedByPongFrames, .evictionUntold, .owedGapForgotten,
            .cursorTooHigh, .storedTooHigh, .crashTakenForStop,
            .droppedTakenForConfirmed, .unknownToldOnce, .partTakenForWhole, .leftForgotten:
            [.recovery]
        case .askedAtTheEndAlone: [.progress]
        case .sharedUntold: [.answers]
        case .oneSessionMore: [.budgets]
        case .lostYield: [.answers]
        case .latePark: [.repeats, .recovery, .honesty]
        case .owedOpeningForgotten: [.cache]
        case .forgottenExclusion: [.exclusion]
        case .resumeWithoutAuthorization: [.authorisation]
        }
    }
}
