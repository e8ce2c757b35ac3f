import Broker
import FanfareServer
import PusherProtocol

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

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .confirmedAtWriting, .confirmedByPongFrames, .unknownTakenForNew, .evictionUntold,
            .owedGapForgotten, .cursorTooHigh, .storedTooHigh, .crashTakenForStop:
            [.recovery]
        case .lostYield: [.answers]
        case .latePark: [.repeats, .recovery, .honesty]
        case .owedOpeningForgotten: [.cache]
        case .forgottenExclusion: [.exclusion]
        case .resumeWithoutAuthorization: [.authorisation]
        }
    }
}

/// The state of an injected bug.
struct SessionFault {
    let variant: SessionVariant
    private var firstHandovers: [SessionKey: [SessionCursor]] = [:]

    init(_ variant: SessionVariant) { self.variant = variant }

    /// Applies the bug to a message in transit; `nil` if it does not arrive.
    mutating func tamper(_ message: LinkMessage, hasEvicted: Bool) -> LinkMessage? {
        switch message.message {
        case .sessions(.handOver(let handover)):
            tamper(handover).map { LinkMessage(message: .sessions(.handOver($0))) }
        case .sessions(.answer(.owned(var resumption), let address, let id)):
            {
                let isUntold =
                    variant == .unknownTakenForNew && !hasEvicted
                    || variant == .evictionUntold && hasEvicted
                if isUntold { resumption.unknownUntil = .min }
                return LinkMessage(
                    message: .sessions(.answer(.owned(resumption), address, to: id))
                )
            }()
        case .subscribeFrom(var position, let address, let request, let member)
        where variant == .forgottenExclusion:
            {
                position.formerSocketIDs = []
                return LinkMessage(
                    message: .subscribeFrom(position, address, request, member)
                )
            }()
        default: message
        }
    }

    private mutating func tamper(_ handover: SessionHandover) -> SessionHandover? {
        var handover = handover
        switch variant {
        case .lostYield: return nil
        case .latePark:
            let key = handover.address.key
            if let first = firstHandovers[key] {
                handover.cursors = first
            } else {
                firstHandovers[key] = handover.cursors
            }
        case .owedGapForgotten:
            for index in handover.cursors.indices { handover.cursors[index].owedGap = nil }
        case .owedOpeningForgotten:
            for index in handover.cursors.indices { handover.cursors[index].owesOpening = false }
        case .cursorTooHigh:
            for index in handover.cursors.indices {
                let position = handover.cursors[index].position
                handover.cursors[index].position = ChannelPosition(
                    stream: position.stream,
                    serial: position.serial + 1
                )
            }
        default: break
        }
        return handover
    }
}
