import Shard

/// A cluster with an injected bug, for testing that its simulation detects it.
package enum ClusterVariant: String, CaseIterable, Sendable {
    /// Every server passes for the same process.
    case epochIgnored
    /// A message overtakes those of its channel whose stream has ended.
    case staleReordered
    /// What is published ahead of the reply to `attach` is delivered behind the grants.
    case deliveredEarly
    /// A new member is granted before its own arrival is announced.
    case grantBeforeArrival
    /// The first message that was missed is left out.
    case catchUpOffByOne
    /// A message without a position counts as published though the server was demoted.
    case demotedPublish
    /// Publishers that wait for replicas are answered without, and what the replica lacks passes for confirmed.
    case tailTrusted
    /// A node that was taken for dead does not register again.
    case pausedNotFenced
    /// The members of a dead node are removed twice.
    case doubleReap
    /// Who comes back in time has left all the same.
    case departureKept
    /// A new leader does not send what waits.
    case webhooksForgotten
    /// All nodes have one number.
    case duplicateSocketID

    // With Sentinels.

    /// Each node believes the word of a single Sentinel.
    case singleSentinel
    /// The announcement of another primary is ignored, so that nodes learn of it when they ask next.
    case announcementIgnored
    /// Another primary passes for the first one.
    case epochKept
    /// What a Sentinel has answered counts for ever.
    case answersKept
    /// A primary that was replaced and promoted again passes for one that has always been the primary.
    case failoverForgotten

    /// The bug that a shard has by itself.
    var faults: InjectedFaults {
        switch self {
        case .epochIgnored: .ignoresEpochs
        case .staleReordered: .reordersStale
        case .deliveredEarly: .deliversEarly
        case .grantBeforeArrival: .grantsBeforeArrival
        case .catchUpOffByOne: .skipsFirstMissed
        case .demotedPublish: .trustsPublish
        case .tailTrusted: .trustsPrimary
        case .pausedNotFenced: .ignoresFence
        case .webhooksForgotten: .forgetsWebhooks
        case .epochKept: .keepsEpochs
        case .answersKept: .keepsAnswers
        case .failoverForgotten: .forgetsFailovers
        case .doubleReap, .departureKept, .duplicateSocketID, .singleSentinel,
            .announcementIgnored:
            []
        }
    }

    /// The bug that a script has.
    var scriptEdit: ScriptEdit? {
        switch self {
        case .doubleReap:
            let line =
                "    if endMembership(keys, flags, channel, user, time, delay) then gone = gone + 1 end"
            return ScriptEdit(
                scripts: ["reap"],
                line: line,
                replacement: """
                        local nodes = tonumber(redis.call('HGET', keys.members, user))
                        if nodes > 1 then redis.call('HINCRBY', keys.members, user, -1) end
                    \(line)
                    """
            )
        case .departureKept:
            return ScriptEdit(
                scripts: ["attach", "join"],
                line: "    if redis.call('ZREM', due, departure) == 0 then",
                replacement: "    if not redis.call('ZSCORE', due, departure) then"
            )
        default: return nil
        }
    }

    /// Whether it is a bug only if the nodes find the primary by Sentinels.
    var needsSentinels: Bool {
        switch self {
        case .singleSentinel, .announcementIgnored, .epochKept, .answersKept, .failoverForgotten:
            true
        default: false
        }
    }

    /// Whether it is a bug only if a former primary becomes a replica, and its connections stay.
    var needsDemotion: Bool { self == .demotedPublish }

    /// The invariants, at least one of which must be violated.
    package var breaks: Set<Invariant> {
        switch self {
        case .epochIgnored: [.recovery, .repeats, .serials, .once, .order, .isolation]
        case .staleReordered: [.order]
        case .deliveredEarly: [.once, .repeats, .presence, .recovery, .order]
        case .grantBeforeArrival: [.presence]
        case .catchUpOffByOne: [.recovery, .once]
        case .demotedPublish, .tailTrusted: [.durability]
        case .pausedNotFenced: [.presence, .counts, .answers]
        case .doubleReap: [.presence, .webhooks]
        case .departureKept, .webhooksForgotten: [.webhooks]
        case .duplicateSocketID: [.identity]
        case .failoverForgotten: [.recovery]
        case .singleSentinel, .announcementIgnored, .answersKept: [.isolation]
        case .epochKept:
            [.answers, .recovery, .repeats, .serials, .once, .order, .isolation, .memory]
        }
    }
}
