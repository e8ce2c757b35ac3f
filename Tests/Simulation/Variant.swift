import FanfareServer
import TestRandom

/// A broker that is broken on purpose, to see that the simulation notices.
package enum Variant: String, CaseIterable, Sendable {
    /// A home does not hear that somebody has left.
    case lostUnsubscribe
    /// A home of a presence channel does not hear that somebody has left.
    case leakedMember
    /// Nobody elsewhere hears of a member's arrival or departure.
    case lostNotice
    /// Two deliveries arrive in the wrong order.
    case swappedDeliveries
    /// A delivery arrives twice.
    case doubledDelivery
    /// A delivery does not arrive.
    case lostDelivery
    /// A delivery reaches the one that it was not for.
    case deliveryToSender
    /// A grant does not arrive.
    case lostGrant
    /// A home's answer to a question does not arrive.
    case lostAnswer
    /// An order to close a user's connections does not arrive.
    case lostTermination
    /// A home does not tell who is online.
    case lostReport
    /// A signature counts that the app did not make.
    case foreignCredential
    /// One more than the limit is let in.
    case oneSubscriptionMore, oneMemberMore, oneConnectionMore, oneEventMore
    /// A trigger is answered before the home of its channel has seen it.
    case earlyAnswer
    /// Subscriptions that wait on a line keep events from being taken in.
    case countedMembership
    /// A fan-out takes whatever comes, however slowly it is read.
    case unboundedFanOut
    /// The timers of one shard never fire.
    case stoppedClock

    /// The invariants of which one is to be found broken.
    package var breaks: Set<Invariant> {
        switch self {
        case .lostUnsubscribe, .leakedMember: [.counts, .presence]
        case .lostNotice: [.presence, .once]
        case .swappedDeliveries: [.order, .counts]
        case .doubledDelivery: [.once, .presence, .counts]
        case .lostDelivery: [.once, .presence, .counts]
        case .deliveryToSender: [.exclusion]
        case .lostGrant, .lostAnswer: [.answers]
        case .lostTermination: [.closing]
        case .lostReport: [.users]
        case .foreignCredential: [.authorisation]
        case .oneSubscriptionMore, .oneMemberMore, .oneConnectionMore, .oneEventMore: [.limits]
        case .earlyAnswer: [.order]
        case .countedMembership: [.answers]
        case .unboundedFanOut: [.closing]
        case .stoppedClock: [.closing, .memory, .users]
        }
    }

    /// What becomes of letters on their way.
    func tamper(_ letters: [LinkMessage], _ random: inout SeededRandom) -> [LinkMessage] {
        switch self {
        case .lostUnsubscribe: lose(.unsubscribe, letters, &random)
        case .leakedMember:
            lose(.unsubscribe, letters, &random) { $0.channel?.hasPrefix("presence-") == true }
        case .lostNotice:
            lose(.delivery, letters, &random) {
                $0.delivered?.contains("pusher_internal:member_") == true
            }
        case .lostDelivery: lose(.delivery, letters, &random)
        case .lostGrant: lose(.granted, letters, &random)
        case .lostAnswer: lose(.answer, letters, &random)
        case .lostTermination: lose(.termination, letters, &random)
        case .lostReport: lose(.report, letters, &random)
        case .doubledDelivery:
            letters.flatMap { isMet($0, .delivery, &random) ? [$0, $0] : [$0] }
        case .deliveryToSender: letters.map { $0.forEverybody() }
        case .swappedDeliveries: swap(letters)
        default: letters
        }
    }

    private func lose(
        _ subject: LinkMessage.Subject,
        _ letters: [LinkMessage],
        _ random: inout SeededRandom,
        where isMeant: (LinkMessage) -> Bool = { _ in true }
    ) -> [LinkMessage] {
        letters.filter { !(isMeant($0) && isMet($0, subject, &random)) }
    }

    /// Whether a letter is one of those that something happens to: every third, so that much goes well.
    private func isMet(
        _ letter: LinkMessage,
        _ subject: LinkMessage.Subject,
        _ random: inout SeededRandom
    ) -> Bool {
        letter.subject == subject && Int.random(in: 0..<3, using: &random) == 0
    }

    private func swap(_ letters: [LinkMessage]) -> [LinkMessage] {
        var letters = letters
        for index in letters.indices.dropFirst()
        where letters[index - 1].subject == .delivery && letters[index].subject == .delivery
            && letters[index - 1].channel == letters[index].channel
        {
            letters.swapAt(index - 1, index)
        }
        return letters
    }
}
