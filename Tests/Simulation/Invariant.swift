/// The invariants of every run.
package enum Invariant: String, CaseIterable, Sendable {
    case order = "order: all subscribers receive a channel's events in one order"
    case once = "once: an event reaches every lasting subscriber exactly once"
    case audience = "audience: only subscribers receive a channel's messages"
    case authorisation = "authorisation: only authorized clients are admitted"
    case exclusion = "exclusion: an event does not reach an excluded connection"
    case content = "content: an event arrives as it was published"
    case presence = "presence: members are announced once, and all subscribers know the same"
    case counts = "counts: announced and queried counts are right"
    case limits = "limits: no limit is exceeded"
    case answers = "answers: every message and request is answered correctly"
    case closing = "closing: a connection is closed only for a reason, and then completely"
    case users = "users: watchers know whether users are online"
    case cache = "cache: a later subscriber begins with the last event"
    case serials = "serials: a message has one number, for everybody and for ever"
    case recovery = "recovery: a device that tracks a channel misses nothing untold"
    case repeats = "repeats: a device that tracks a channel gets nothing twice"
    case progress = "progress: a page that processes a part over each connection catches up"
    case honesty = "honesty: a gap is told only where something is missing"
    case durability = "durability: what was released or answered is there afterwards"
    case budgets = "budgets: what is kept stays within its limits, and is counted"
    case isolation = "isolation: a client that a message cannot reach is told, or closed"
    case identity = "identity: no two connections of all nodes have one socket ID"
    case webhooks = "webhooks: each transition is told once, by whichever node leads"
    case memory = "memory: no state is left without connections"
}

/// A violated invariant.
package struct Violation: Error, CustomStringConvertible, Sendable {
    package var invariant: Invariant
    /// A description, with the client.
    package var text: String

    init(_ invariant: Invariant, _ text: String) {
        self.invariant = invariant
        self.text = text
    }

    package var description: String { "\(invariant.rawValue)\n  \(text)" }
}
