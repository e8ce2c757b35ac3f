public import RESP

/// The reply to `user`.
public struct UserConnections: Hashable, Sendable {
    /// The number of connections on all nodes.
    public var count: Int64
    /// When the connections were last terminated, in milliseconds since 1970, if that is less than 120 s ago.
    public var terminatedAt: Int64?

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[0].clampedCount, let time = reply[1].safeInteger else { return nil }
        self.count = count
        terminatedAt = time == 0 ? nil : time
    }
}

/// The reply to `claim`.
public struct ClaimedSession: Hashable, Sendable {
    /// The outcome of a claim.
    public enum Outcome: String, Sendable {
        /// The session is not known, or was forgotten.
        case new
        /// The same, and all sessions of the app have owners: it is not kept.
        case full
        /// It was parked, or belongs to the connection already.
        case resumed
        /// Its owner has disappeared without parking it; the state may be old.
        case checkpoint
        /// A message to the node's inbox follows: ``InboxMessage``.
        case awaited
        /// A later connection of the same node has claimed it.
        case superseded
        /// Two clients use it.
        case shared
    }

    /// The outcome of the claim.
    public var outcome: Outcome
    /// The state, for ``Outcome/resumed`` and ``Outcome/checkpoint``; otherwise empty.
    public var state: [UInt8]
    /// The number of sessions that were dropped for this one.
    public var forgottenCount: Int64
    /// When a session was last forgotten before this claim, in milliseconds since 1970; nil for never.
    ///
    /// Only for ``Outcome/new`` and ``Outcome/full``.
    public var lastForgottenAt: Int64?

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let outcome = Outcome(rawValue: reply[0].text), let count = reply[2].safeInteger,
            let time = reply[3].safeInteger
        else { return nil }
        self.outcome = outcome
        state = reply[1].copy()
        forgottenCount = count
        lastForgottenAt = time == 0 ? nil : time
    }
}

/// The reply to `park`.
public enum SessionParking: Int64, Sendable {
    /// The connection is not the owner any more; nothing is stored.
    case outdated = 0
    /// The state is stored.
    case stored = 1
    /// The state is passed on to the connection that has claimed the session.
    case passedOn = 2
    /// The state is stored, although the session was not known: it was forgotten, or lost with Redis's data.
    case restored = 3
    /// As above, but with an empty state: the state would exceed the maximum size of all sessions.
    case emptied = 4

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let number = reply.safeInteger, let outcome = Self(rawValue: number) else {
            return nil
        }
        self = outcome
    }
}
