public import PusherProtocol

/// A session of a stock client with a token, as stored for a restart.
public struct StoredSession: Sendable, Equatable {
    /// The state of a session.
    public enum State: UInt8, Sendable {
        /// It can be resumed from its cursors.
        case resumable
        /// Two connected clients have used its token, so it resumes nothing.
        case shared
        /// It has expired: its token is not accepted as a new one.
        case forgotten
    }

    /// The session.
    public var address: SessionAddress
    /// Its state.
    public var state: State
    /// When its last connection ended or it expired, in milliseconds since 1970; `nil` while it has a connection.
    public var parkedAt: Int64?
    /// The confirmed positions.
    public var cursors: [SessionCursor]
    /// The last socket IDs of the client, the latest last.
    public var socketIDs: [SocketID]
    /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
    public var mayLackCursors: Bool
    /// Whether the client has answered a `pusher:ping`.
    public var answersPings: Bool

    /// Creates a session.
    public init(
        _ address: SessionAddress,
        _ state: State = .resumable,
        parkedAt: Int64?,
        _ cursors: [SessionCursor] = [],
        socketIDs: [SocketID] = [],
        mayLackCursors: Bool = false,
        answersPings: Bool = false
    ) {
        self.address = address
        self.state = state
        self.parkedAt = parkedAt
        self.cursors = cursors
        self.socketIDs = socketIDs
        self.mayLackCursors = mayLackCursors
        self.answersPings = answersPings
    }
}

/// The sessions of one or all home shards that survive a restart.
public struct StoredSessions: Sendable, Equatable {
    /// The sessions.
    public var sessions: [StoredSession]
    /// Whether these are all sessions at the end of the run; if not, an unknown token may belong to a lost session.
    public var isComplete: Bool
    /// The time before which unknown sessions may have existed, in milliseconds since 1970; `nil` for none.
    public var unknownBefore: Int64?
    /// When an app's sessions were last forgotten before their time, in milliseconds since 1970.
    public var evictions: [AppID: Int64]
    /// The number of sessions that could not be read.
    public var damagedCount = 0

    /// Creates a set of sessions.
    public init(
        _ sessions: [StoredSession] = [],
        isComplete: Bool = false,
        unknownBefore: Int64? = nil,
        evictions: [AppID: Int64] = [:]
    ) {
        self.sessions = sessions
        self.isComplete = isComplete
        self.unknownBefore = unknownBefore
        self.evictions = evictions
    }

    /// Adds those of another home shard.
    public mutating func add(_ other: StoredSessions) {
        sessions += other.sessions
        isComplete = isComplete && other.isComplete
        unknownBefore = [unknownBefore, other.unknownBefore].compactMap(\.self).max()
        evictions.merge(other.evictions) { max($0, $1) }
        damagedCount += other.damagedCount
    }
}

/// A change of the stored sessions.
public enum SessionChange: Sendable, Equatable {
    /// A session is new, or has changed.
    case keep(StoredSession)
    /// A session is forgotten.
    case remove(SessionAddress)
}
