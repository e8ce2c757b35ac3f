import PusherProtocol
import TestRandom

/// A broker with an injected bug, for testing that the simulation detects it.
package enum Variant: String, CaseIterable, Sendable {
    /// Unsubscriptions do not reach the home.
    case lostUnsubscribe
    /// Unsubscriptions do not reach the home of a presence channel.
    case leakedMember
    /// Notices of arrivals and departures do not reach other shards.
    case lostNotice
    /// Two deliveries arrive in the wrong order.
    case swappedDeliveries
    /// A delivery arrives twice.
    case doubledDelivery
    /// A delivery does not arrive.
    case lostDelivery
    /// A delivery reaches the excluded connection.
    case deliveryToSender
    /// A grant does not arrive.
    case lostGrant
    /// A home's answer to a query does not arrive.
    case lostAnswer
    /// A request to close a user's connections does not arrive.
    case lostTermination
    /// A home's report of online users does not arrive.
    case lostReport
    /// A secret of another app is accepted.
    case foreignCredential
    /// Limits are higher by one.
    case oneSubscriptionMore, oneMemberMore, oneConnectionMore, oneEventMore
    /// A trigger is acknowledged before the channel's home has processed it.
    case earlyAnswer
    /// Queued subscriptions count towards the limit of queued events.
    case countedMembership
    /// The size of a fan-out is unlimited.
    case unboundedFanOut
    /// A replay lacks its first or last message, or has one twice.
    case replayWithoutFirst, replayWithoutLast, doubledReplay
    /// A subscription begins one message later than it does.
    case positionTooHigh
    /// A gap is told where nothing is missing, or is not told.
    case falseGap, untoldGap
    /// A channel opens with one message less, its first, its last, or one of them twice.
    case shortOpening, openingWithoutFirst, openingWithoutLast, doubledOpening
    /// Clients are not told that a channel goes on in another stream, or behind its first event.
    case lostRestart, restartBehindDelivery
    /// A replay lacks the number of a message that excludes its reader.
    case forgottenNumber
    /// A live event overtakes a grant with its replay.
    case grantBehindDelivery
    /// A client gets live events ahead of the replay of its grant.
    case seatedBeforeReplay
    /// The stream of a channel without subscribers does not count the events of other shards.
    case vacantUncounted
    /// A client that tracks a channel does not get the number of an event that excludes it.
    case withheldNumber
    /// A channel keeps one message more than its limit.
    case oneMessageMore
    /// The timers of one shard never fire.
    case stoppedClock

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .lostUnsubscribe, .leakedMember: [.counts, .presence]
        case .lostNotice: [.presence, .once]
        case .swappedDeliveries: [.order, .presence, .counts, .recovery]
        case .doubledDelivery: [.once, .presence, .counts, .repeats]
        case .lostDelivery: [.once, .presence, .counts, .recovery]
        case .deliveryToSender: [.exclusion]
        case .lostGrant, .lostAnswer: [.answers]
        case .lostTermination: [.closing]
        case .lostReport: [.users]
        case .foreignCredential: [.authorisation]
        case .oneSubscriptionMore, .oneMemberMore, .oneConnectionMore, .oneEventMore: [.limits]
        case .replayWithoutFirst, .replayWithoutLast: [.recovery]
        case .doubledReplay, .doubledOpening: [.repeats]
        case .lostRestart, .restartBehindDelivery: [.repeats, .recovery, .serials]
        case .forgottenNumber: [.recovery]
        case .shortOpening, .openingWithoutFirst: [.recovery]
        case .openingWithoutLast: [.recovery, .repeats]
        case .positionTooHigh: [.recovery, .repeats]
        case .falseGap: [.honesty]
        case .untoldGap: [.recovery]
        // The replay may find the client unsubscribed.
        case .seatedBeforeReplay: [.recovery, .audience]
        case .vacantUncounted: [.recovery]
        case .withheldNumber: [.recovery]
        case .oneMessageMore: [.budgets]
        case .grantBehindDelivery: [.recovery, .once, .presence, .counts]
        case .earlyAnswer: [.order, .once]
        case .countedMembership: [.answers]
        case .unboundedFanOut: [.closing]
        case .stoppedClock: [.closing, .memory, .users]
        }
    }

    /// Whether a frame does not reach its client.
    func loses(_ frame: SimulatedClient.ReceivedFrame) -> Bool {
        guard case .message(.position(_, _?, nil)) = frame else { return false }
        return self == .withheldNumber
    }

    /// Applies the bug to messages in transit.
    func tamper(_ messages: [LinkMessage], _ random: inout SeededRandom) -> [LinkMessage] {
        switch self {
        case .lostUnsubscribe: lose(.unsubscribe, messages, &random)
        case .leakedMember:
            lose(.unsubscribe, messages, &random) { $0.channel?.hasPrefix("presence-") == true }
        case .lostNotice:
            lose(.delivery, messages, &random) {
                $0.delivered?.contains("pusher_internal:member_") == true
            }
        case .lostDelivery: lose(.delivery, messages, &random)
        case .lostGrant: lose(.granted, messages, &random)
        case .lostRestart: lose(.restarted, messages, &random)
        case .restartBehindDelivery: swap(messages) { $0 == .restarted && $1 == .delivery }
        case .forgottenNumber: messages.map { $0.withoutNumbers() }
        case .lostAnswer: lose(.answer, messages, &random)
        case .lostTermination: lose(.termination, messages, &random)
        case .lostReport: lose(.report, messages, &random)
        case .doubledDelivery:
            messages.flatMap { isAffected($0, .delivery, &random) ? [$0, $0] : [$0] }
        case .deliveryToSender: messages.map { $0.withoutExclusion() }
        case .swappedDeliveries: swap(messages) { $0 == .delivery && $1 == .delivery }
        case .grantBehindDelivery: swap(messages) { $0 == .granted && $1 == .delivery }
        case .seatedBeforeReplay: LinkMessage.withReplaysLast(messages)
        case .replayWithoutFirst: messages.map { $0.withoutFirstOfReplay() }
        case .replayWithoutLast: messages.map { $0.withoutLastOfReplay() }
        case .doubledReplay: messages.map { $0.withDoubledReplay() }
        case .openingWithoutFirst:
            messages.map { $0.withOpening { if !$0.isEmpty { $0.removeFirst() } } }
        case .openingWithoutLast:
            messages.map { $0.withOpening { if !$0.isEmpty { $0.removeLast() } } }
        case .doubledOpening:
            messages.map { $0.withOpening { if let first = $0.first { $0.insert(first, at: 0) } } }
        case .positionTooHigh: messages.map { $0.withPositionTooHigh() }
        case .falseGap: messages.map { $0.withFalseGap() }
        case .untoldGap: messages.map { $0.withUntoldGap() }
        default: messages
        }
    }

    private func lose(
        _ subject: LinkMessage.Subject,
        _ messages: [LinkMessage],
        _ random: inout SeededRandom,
        where isRelevant: (LinkMessage) -> Bool = { _ in true }
    ) -> [LinkMessage] {
        messages.filter { !(isRelevant($0) && isAffected($0, subject, &random)) }
    }

    /// Whether the bug affects a message: every third, so that most of a run works.
    private func isAffected(
        _ message: LinkMessage,
        _ subject: LinkMessage.Subject,
        _ random: inout SeededRandom
    ) -> Bool {
        message.subject == subject && Int.random(in: 0..<3, using: &random) == 0
    }

    /// Swaps two neighbours that belong to one channel.
    private func swap(
        _ messages: [LinkMessage],
        where isRelevant: (LinkMessage.Subject, LinkMessage.Subject) -> Bool
    ) -> [LinkMessage] {
        var messages = messages
        for index in messages.indices.dropFirst()
        where isRelevant(messages[index - 1].subject, messages[index].subject)
            && messages[index - 1].channel == messages[index].channel
        {
            messages.swapAt(index - 1, index)
        }
        return messages
    }
}
