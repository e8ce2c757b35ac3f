/// A cluster with an injected bug, for testing that its simulation detects it.
package enum ClusterVariant: String, CaseIterable, Sendable {
    /// Every server passes for the same process: its `INFO` says so.
    case epochIgnored
    /// A message overtakes those of its channel whose stream has ended: Redis refuses only the first.
    case staleReordered
    /// What is published ahead of the reply to `attach` is delivered behind the grants: Redis sends it again.
    case deliveredEarly
    /// A new member is granted before its own arrival is announced: Redis says that it was known.
    case grantBeforeArrival
    /// The first message that was missed is left out: Redis returns the one before it in its place.
    case catchUpOffByOne
    /// A message without a position counts as published though the server was demoted: it pretends to write.
    case demotedPublish
    /// Publishers that wait for replicas are answered without, and what the replica lacks passes for confirmed.
    case tailTrusted
    /// A node that was taken for dead does not register again: Redis says that it is registered.
    case pausedNotFenced
    /// The members of a dead node are removed twice.
    case doubleReap
    /// Who comes back in time has left all the same.
    case departureKept
    /// A new leader does not send what waits: Redis forgets it.
    case webhooksForgotten
    /// All nodes have one number.
    case duplicateSocketID

    // With Sentinels.

    /// Each node believes the word of a single Sentinel.
    case singleSentinel
    /// The announcement of another primary is ignored, so that nodes learn of it when they ask next.
    case announcementIgnored
    /// Another primary passes for the first one that the node has asked: its `INFO` says so.
    case epochKept
    /// What a Sentinel has answered counts for ever: a node that loses it is still answered the same.
    case answersKept
    /// A primary that was replaced and promoted again passes for one that has always been the primary.
    case failoverForgotten

    /// The bug that a script has.
    var scriptEdit: ScriptEdit? {
        switch self {
        case .staleReordered:
            let first = "if outcomes.stale ~= messages then outcomes.stale = messages; break end"
            let condition = "                if tonumber(stream) <= sealed then"
            return ScriptEdit(
                "publish",
                replacing: "\(condition) break end",
                by: "\(condition) \(first) stream = '' end"
            )
        case .grantBeforeArrival:
            let result = "return { 1, count + 1 }"
            return ScriptEdit("join", replacing: result, by: "return { 2, count + 1 }")
        case .pausedNotFenced:
            let results = "local registered, leads = 0, 0"
            return ScriptEdit("heartbeat", replacing: results, by: "local registered, leads = 1, 0")
        case .doubleReap:
            let line =
                "    if endMembership(keys, flags, channel, user, time, delay) then gone = gone + 1 end"
            return ScriptEdit(
                "reap",
                replacing: line,
                by: """
                        local nodes = tonumber(redis.call('HGET', keys.members, user))
                        if nodes > 1 then redis.call('HINCRBY', keys.members, user, -1) end
                    \(line)
                    """
            )
        case .departureKept:
            return ScriptEdit(
                "attach",
                "join",
                replacing: "    if redis.call('ZREM', due, departure) == 0 then",
                by: "    if not redis.call('ZSCORE', due, departure) then"
            )
        case .webhooksForgotten:
            let line = "local others = {}"
            let forget = "if last == '0-0' then redis.call('DEL', webhooks) end"
            return ScriptEdit("timers", replacing: line, by: "\(line) \(forget)")
        case .epochIgnored, .epochKept, .failoverForgotten:
            let line = "local lastFailover = tonumber(state[8]) or failover"
            return ScriptEdit("register", replacing: line, by: "local lastFailover = failover")
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
        case .deliveredEarly: [.once, .repeats, .presence, .recovery, .order, .serials]
        case .grantBeforeArrival: [.presence]
        case .catchUpOffByOne: [.recovery, .once, .repeats]
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
