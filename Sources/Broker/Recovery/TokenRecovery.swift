public import PusherProtocol

/// The recovery of a connection with a session token.
struct TokenRecovery: Sendable {
    /// A subscription that waits for the answer to the claim.
    struct WaitingJoin: Sendable {
        let channel: ChannelName
        let member: Member?
        let request: UInt32
    }

    /// The relation of the connection to its session.
    enum State: Sendable {
        /// It has not subscribed to any channel yet.
        case unclaimed
        case claiming
        case owner
        /// A later connection owns the session.
        case superseded
        /// Two connected clients use the token.
        case shared
        /// The broker has too many sessions.
        case withoutRecovery
    }

    let address: SessionAddress
    let createdAt: Int64
    let openedAt: Int64
    var state = State.unclaimed
    var cursors: TokenCursors
    /// The subscriptions that wait for the answer to the claim.
    var waiting: [WaitingJoin] = []
    /// The cursors of channels to which the connection has not subscribed.
    private(set) var dormant: [ChannelName: SessionCursor] = [:] {
        // If it were emptied element by element, a table would keep its memory for as long as the connection lasts.
        didSet { if dormant.isEmpty { dormant = [:] } }
    }
    private var formerSocketIDs: [SocketID] = []
    /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
    var mayLackCursors = false
    /// The channels with a pending request, and the cursor that each resumes from.
    private var requested: [ChannelName: SessionCursor?] = [:] {
        didSet { if requested.isEmpty { requested = [:] } }
    }

    init(
        _ address: SessionAddress,
        createdAt: Int64,
        openedAt: Int64,
        pings: ConfirmationPings = ConfirmationPings()
    ) {
        cursors = TokenCursors(pings)
        self.address = address
        self.createdAt = createdAt
        self.openedAt = openedAt
    }

    /// Whether grants are still awaited, so that one ping can ask about all their replays.
    var awaitsGrants: Bool { !requested.isEmpty }

    var isOwner: Bool { if case .owner = state { true } else { false } }

    // MARK: - Subscriptions

    /// Becomes the session's owner.
    mutating func own(_ resumption: SessionResumption) {
        state = .owner
        for cursor in resumption.cursors { dormant[cursor.channel] = cursor }
        formerSocketIDs = resumption.formerSocketIDs
        mayLackCursors = resumption.mayLackCursors
        cursors.answersPings = resumption.answersPings
    }

    /// The claim of the session, with the first subscription.
    mutating func claim(_ join: WaitingJoin, by socketID: SocketID) -> SessionClaim {
        state = .claiming
        waiting = [join]
        return SessionClaim(
            address,
            createdAt: createdAt,
            socketID: socketID,
            openedAt: openedAt
        )
    }

    /// The position from which a channel is resumed.
    mutating func request(_ channel: ChannelName, from socketID: SocketID) -> PositionRequest {
        let cursor = dormant[channel]
        requested[channel] = .some(cursor)
        var request = PositionRequest(cursor?.position)
        request.wantsOpening = cursor?.owesOpening ?? false
        // Events that the client's backend published since it connected exclude its new socket ID, too.
        if cursor != nil { request.formerSocketIDs = formerSocketIDs + [socketID] }
        return request
    }

    /// The gap reported to the client with a grant; `nil` if the grant does not resume or begin a kept
    /// channel.
    ///
    /// `former` is where the subscription begins in the first of the sealed streams whose rest the client gets before
    /// `start`.
    mutating func begin(
        _ channel: ChannelName,
        _ start: SubscriptionStart,
        behind former: SubscriptionStart?
    ) -> TokenStart? {
        guard isOwner, let cursor = requested.removeValue(forKey: channel) else { return nil }
        dormant[channel] = nil
        var gap = cursor?.owedGap
        switch start.continuity {
        case .gap(let new): gap = new.following(gap)
        case .began where mayLackCursors: gap = RecoveryGap(.unknownSession)
        case .began, .recovered: break
        }
        var first = former ?? start
        first.hasOpening = start.hasOpening
        var origin: ChannelPosition?
        if case .recovered = start.continuity, cursor?.position.stream != first.position.stream {
            origin = cursor?.position
        }
        cursors.begin(channel, first, gap: gap, behind: origin)
        return TokenStart(isResumed: cursor != nil, gap: gap)
    }

    /// Drops the cursor of a channel that the client has unsubscribed from, and returns whether the home knows of the
    /// subscription.
    mutating func unsubscribe(_ channel: ChannelName) -> Bool {
        dormant[channel] = nil
        requested[channel] = nil
        cursors.remove(channel)
        guard let index = waiting.firstIndex(where: { $0.channel == channel }) else { return true }
        waiting.remove(at: index)
        return false
    }

    /// Removes a pending request that was refused, or granted without a stream; the cursor stays.
    mutating func endRequest(_ channel: ChannelName) { requested[channel] = nil }

    // MARK: - The end

    /// Hands the cursors over; the connection is no longer the owner.
    ///
    /// `end` is the end of the connection, or the opening of its successor. `cursorsMax` reduces the cursors of
    /// channels that the client did not subscribe to. Returns `nil` if the connection is not the owner.
    mutating func handOver(
        from socketID: SocketID,
        as state: State,
        at end: Int64,
        cursorsMax: Int
    ) -> SessionHandover? {
        guard isOwner else { return nil }
        self.state = state
        let live = cursors.confirmed(at: end)
        let (all, mayLackCursors) = adding(live, cursorsMax: cursorsMax)
        dormant = [:]
        requested = [:]
        cursors.removeAll()
        return SessionHandover(
            address,
            from: socketID,
            all,
            mayLackCursors: mayLackCursors,
            answersPings: cursors.answersPings
        )
    }

    /// The session as it would be resumed after a crash at this moment; `nil` if the connection is not the owner.
    func stored(as socketID: SocketID, cursorsMax: Int) -> StoredSession? {
        guard isOwner else { return nil }
        let (all, mayLackCursors) = adding(cursors.confirmed, cursorsMax: cursorsMax)
        return StoredSession(
            address,
            parkedAt: nil,
            all,
            socketIDs: formerSocketIDs.suffix(SessionResumption.socketIDCountMax - 1) + [socketID],
            mayLackCursors: mayLackCursors,
            answersPings: cursors.answersPings
        )
    }

    /// The live cursors and those of channels that the client did not subscribe to, and whether others may be missing.
    private func adding(
        _ live: [SessionCursor],
        cursorsMax: Int
    ) -> (cursors: [SessionCursor], mayLackCursors: Bool) {
        let rest = dormant.values.prefix(max(0, cursorsMax - live.count))
        return (live + rest, mayLackCursors || rest.count < dormant.count)
    }
}

/// The part of a grant that is specific to a client with a token.
public struct TokenStart: Sendable, Equatable {
    /// Whether its session knew the channel before.
    public let isResumed: Bool
    /// The gap to report to the client.
    public let gap: RecoveryGap?
}

extension RecoveryGap {
    /// Joins this gap with an earlier one that may not have been reported to the client.
    fileprivate func following(_ earlier: RecoveryGap?) -> RecoveryGap {
        guard let earlier else { return self }
        guard let missed, let before = earlier.missed else { return RecoveryGap(reason) }
        return RecoveryGap(reason, missed: missed + before)
    }
}
