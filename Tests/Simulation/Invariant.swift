/// What must hold in every run, whatever happens.
package enum Invariant: String, CaseIterable, Sendable {
    case order = "order: all subscribers see a channel's events in one order"
    case once = "once: an event reaches every subscriber that stayed, exactly once"
    case audience = "audience: nothing reaches who is not subscribed"
    case authorisation = "authorisation: nobody is let in who may not come in"
    case exclusion = "exclusion: an event does not reach who is left out"
    case content = "content: an event arrives as it was published"
    case presence = "presence: members are announced once, and are the same everywhere"
    case counts = "counts: what is told and answered is what there is"
    case limits = "limits: nobody has more than is allowed"
    case answers = "answers: what is said and asked is answered as it should be"
    case closing = "closing: a connection ends for a reason, and then it does end"
    case users = "users: who watches somebody knows whether they are there"
    case cache = "cache: who comes later begins with the last event"
    case memory = "memory: nothing is left when everybody has gone"
}

/// An invariant that did not hold.
package struct Violation: Error, CustomStringConvertible, Sendable {
    package var invariant: Invariant
    /// Who saw what.
    package var text: String

    init(_ invariant: Invariant, _ text: String) {
        self.invariant = invariant
        self.text = text
    }

    package var description: String { "\(invariant.rawValue)\n  \(text)" }
}
