public import PusherProtocol

/// How far a client with a session token has confirmed a channel's stream.
public struct SessionCursor: Sendable, Equatable {
    /// The channel.
    public let channel: ChannelName
    /// Whether the client has not confirmed the cached event of a cache channel, so that the event is sent again.
    public var owesOpening: Bool
    /// The last confirmed position.
    public var position: ChannelPosition
    /// At most one element: few cursors have any, and an empty array allocates nothing.
    private var owedGaps: [RecoveryGap] = []

    /// A gap that was reported to the client and is not confirmed, so that it is reported again.
    public var owedGap: RecoveryGap? {
        get { owedGaps.first }
        set { owedGaps = newValue.map { [$0] } ?? [] }
    }

    /// Creates a cursor.
    public init(
        _ channel: ChannelName,
        _ position: ChannelPosition,
        owedGap: RecoveryGap? = nil,
        owesOpening: Bool = false
    ) {
        self.channel = channel
        self.position = position
        self.owesOpening = owesOpening
        self.owedGap = owedGap
    }

    /// The approximate memory that the cursor takes, in bytes.
    var byteCount: Int { 128 + channel.text.utf8.count }
}

/// The address of a session: sessions of one token in two apps are different sessions.
public struct SessionAddress: Hashable, Sendable {
    /// The app.
    public let app: AppID
    /// The key of the session.
    public let key: SessionKey

    /// Creates the address of a session of `app`.
    public init(app: AppID, key: SessionKey) {
        self.app = app
        self.key = key
    }

    /// The home shard of this session, among `shardCount`.
    public func home(among shardCount: Int) -> Int { Int(key.low % UInt64(shardCount)) }
}

/// A connection's claim of a session, with its first subscription.
public struct SessionClaim: Sendable {
    /// The session.
    public let address: SessionAddress
    /// When the token was created, by the client's clock in milliseconds since 1970.
    public let createdAt: Int64
    /// Whether the client says that no connection with the token was ever established.
    public let isUnused: Bool
    /// The connection.
    public let socketID: SocketID
    /// When the connection was opened, in nanoseconds of the broker's steady clock, the same for all shards.
    public let openedAt: Int64
    /// A digest of the client's address; 0 if it is not known.
    public var addressDigest: UInt32 = 0

    /// Creates a claim.
    public init(
        _ address: SessionAddress,
        createdAt: Int64,
        isUnused: Bool = false,
        socketID: SocketID,
        openedAt: Int64
    ) {
        self.address = address
        self.createdAt = createdAt
        self.isUnused = isUnused
        self.socketID = socketID
        self.openedAt = openedAt
    }
}

extension SessionClaim {
    /// How far the clock of a device may be ahead, in milliseconds.
    public static let clockTolerance: Int64 = 120_000

    /// Whether an unknown session is certainly new, because its token was created after the last session was forgotten,
    /// or because the client says so.
    ///
    /// A client knows that better than the clocks, and only itself misses what it says wrongly.
    ///
    /// - Parameters:
    ///   - forgottenUntil: When a session was last forgotten or lost before it expired, in milliseconds since 1970;
    ///     `nil` for never.
    ///   - sessionAge: How long sessions are kept, in seconds. For at least ``clockTolerance`` longer,
    ///     expired sessions do not count as new ones.
    ///   - now: The time, in milliseconds since 1970.
    /// - Returns: Whether it is new.
    public func isNew(behind forgottenUntil: Int64?, sessionAge: Int, at now: Int64) -> Bool {
        guard !isUnused else { return true }
        if let forgottenUntil, createdAt <= forgottenUntil + Self.clockTolerance {
            return false
        }
        return createdAt > now - Int64(sessionAge) * 1_000
            && createdAt <= now + Self.clockTolerance
    }
}

/// The home's answer to a claim.
public enum SessionAnswer: Sendable {
    /// The connection is the session's owner.
    case owned(SessionResumption)
    /// A later connection owns the session.
    case superseded
    /// Two open connections use the token, so it resumes nothing any more.
    case shared
    /// The app has the maximum number of sessions, and all are in use, so the connection has no recovery.
    ///
    /// Its session may have been forgotten; see ``SessionResumption/mayLackCursors``.
    case full(sessionsMax: Int, mayLackCursors: Bool)
}

/// What the owner of a session begins with.
public struct SessionResumption: Sendable, Equatable {
    /// The number of socket IDs that a session remembers.
    public static let socketIDCountMax = 4

    /// The confirmed positions.
    public var cursors: [SessionCursor]
    /// The last socket IDs of the client.
    public var formerSocketIDs: [SocketID]
    /// Whether cursors may have been forgotten.
    ///
    /// Then the first subscription to a channel without a cursor gets ``RecoveryGap/Reason/unknownSession``, as long as
    /// the session lives.
    public var mayLackCursors: Bool
    /// Whether the client has answered a `pusher:ping`, so that its pong frames prove nothing.
    public var answersPings: Bool

    /// Creates a resumption.
    public init(
        _ cursors: [SessionCursor] = [],
        formerSocketIDs: [SocketID] = [],
        mayLackCursors: Bool = false,
        answersPings: Bool = false
    ) {
        self.cursors = cursors
        self.formerSocketIDs = formerSocketIDs
        self.mayLackCursors = mayLackCursors
        self.answersPings = answersPings
    }
}

/// The cursors of a connection that no longer owns its session, on their way to the session's home.
public struct SessionHandover: Sendable {
    /// The session.
    public let address: SessionAddress
    /// The former owner.
    public let socketID: SocketID
    /// The confirmed positions.
    public var cursors: [SessionCursor]
    /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
    public var mayLackCursors: Bool
    /// Whether the client has answered a `pusher:ping`.
    public var answersPings: Bool

    /// Creates a handover.
    public init(
        _ address: SessionAddress,
        from socketID: SocketID,
        _ cursors: [SessionCursor],
        mayLackCursors: Bool,
        answersPings: Bool = false
    ) {
        self.answersPings = answersPings
        self.address = address
        self.socketID = socketID
        self.cursors = cursors
        self.mayLackCursors = mayLackCursors
    }
}
