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
        /// It has not subscribed to any channel yet. The token was created at a time of the client's clock, in
        /// milliseconds since 1970, and the connection opened at one of the broker's, in nanoseconds.
        case unclaimed(createdAt: Int64, openedAt: Int64, isUnused: Bool)
        /// The subscriptions wait for the answer to the claim.
        case claiming([WaitingJoin])
        /// It owns the session, which these connections had before, the last one last.
        case owner(behind: [SocketID])
        /// A later connection owns the session.
        case superseded
        /// Two connected clients use the token.
        case shared
        /// The broker has too many sessions.
        case withoutRecovery
    }

    /// The cursor of a channel to which the connection has not subscribed, or which the client has left.
    private struct DormantCursor {
        let cursor: SessionCursor
        /// When it was left, in milliseconds of a steady clock.
        var leftAt: Int64?
    }

    // The order saves padding: the allocation is one of the largest of a connection.
    let key: SessionKey
    var cursors: TokenCursors
    /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
    var mayLackCursors = false
    var state: State
    /// The cursors of channels to which the connection has not subscribed.
    private var dormant: [ChannelName: DormantCursor] = [:] {
        // If it were emptied element by element, a table would keep its memory for as long as the connection lasts.
        didSet { if dormant.isEmpty { dormant = [:] } }
    }
    /// The maximum number of channels that were left whose cursors are kept.
    private static let leftMax = 64
    /// The channels with a pending request, and the cursor that each resumes from.
    private var requested: [ChannelName: SessionCursor?] = [:] {
        didSet { if requested.isEmpty { requested = [:] } }
    }

    init(_ key: SessionKey, of token: SessionToken, openedAt: Int64, pings: ConfirmationPings) {
        self.key = key
        cursors = TokenCursors(pings)
        state = .unclaimed(
            createdAt: token.createdAt,
            openedAt: openedAt,
            isUnused: token.isUnused
        )
    }

    /// Whether grants are still awaited, so that one ping can ask about all their replays.
    var awaitsGrants: Bool { !requested.isEmpty }

    var isOwner: Bool { if case .owner = state { true } else { false } }
    var isShared: Bool { if case .shared = state { true } else { false } }

    // MARK: - Subscriptions

    /// Becomes the session's owner.
    mutating func own(_ resumption: SessionResumption) {
        state = .owner(behind: resumption.formerSocketIDs)
        for cursor in resumption.cursors { dormant[cursor.channel] = DormantCursor(cursor: cursor) }
        mayLackCursors = resumption.mayLackCursors
        cursors.answersPings = resumption.answersPings
    }

    /// Makes a subscription wait for the answer to the claim of the session.
    mutating func wait(_ join: WaitingJoin) {
        var waiting = takeWaiting()
        waiting.append(join)
        state = .claiming(waiting)
    }

    /// Takes the subscriptions that wait for the answer to the claim.
    mutating func takeWaiting() -> [WaitingJoin] {
        guard case .claiming(let waiting) = state else { return [] }
        state = .claiming([])
        return waiting
    }

    /// The position from which a channel is resumed.
    mutating func request(_ channel: ChannelName, from socketID: SocketID) -> PositionRequest {
        let cursor = dormant[channel]?.cursor
        dormant[channel]?.leftAt = nil
        requested[channel] = .some(cursor)
        var request = PositionRequest(cursor?.position)
        request.wantsOpening = cursor?.owesOpening ?? false
        // Events that the client's backend published since it connected exclude its new socket ID, too.
        if cursor != nil, case .owner(let former) = state {
            request.formerSocketIDs = former + [socketID]
        }
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

    /// Keeps the cursor of a channel that the client has unsubscribed from, for a time in milliseconds, and returns
    /// whether the home knows of the subscription.
    mutating func unsubscribe(_ channel: ChannelName, at now: Int64, grace: Int64) -> Bool {
        requested[channel] = nil
        if let cursor = cursors.take(channel) { dormant[channel] = DormantCursor(cursor: cursor) }
        dormant[channel]?.leftAt = now
        if grace == 0 || dormant.count > Self.leftMax { forgetLeft(at: now, grace: grace) }
        guard case .claiming(var waiting) = state,
            let index = waiting.firstIndex(where: { $0.channel == channel })
        else { return true }
        waiting.remove(at: index)
        state = .claiming(waiting)
        return false
    }

    /// Drops the cursor of a channel if the client left it too long ago.
    mutating func forget(_ channel: ChannelName, at now: Int64, grace: Int64) {
        if let time = dormant[channel]?.leftAt, now - time > grace { dormant[channel] = nil }
    }

    /// Drops the cursors of the channels that the client left too long ago, and of the first ones if there are too many.
    private mutating func forgetLeft(at now: Int64, grace: Int64) {
        let left = dormant.compactMap { channel, value in value.leftAt.map { (channel, $0) } }
            .sorted { $0.1 < $1.1 }
        for (index, (channel, time)) in left.enumerated()
        where grace == 0 || now - time > grace || left.count - index > Self.leftMax {
            dormant[channel] = nil
        }
    }

    /// Removes a pending request that was refused, or granted without a stream; the cursor stays.
    mutating func endRequest(_ channel: ChannelName) { requested[channel] = nil }

    // MARK: - The end

    /// Hands the cursors over to the session's home; the connection is no longer the owner.
    ///
    /// `end` is the end of the connection, or the opening of its successor. `cursorsMax` reduces the cursors of
    /// channels that the client did not subscribe to. Returns `nil` if the connection is not the owner.
    mutating func handOver(
        _ address: SessionAddress,
        from socketID: SocketID,
        at end: Int64,
        cursorsMax: Int
    ) -> SessionHandover? {
        guard isOwner else { return nil }
        state = .superseded
        // With what was left: a client that has returned on a connection that was dead counts on it.
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
    func stored(
        _ address: SessionAddress,
        as socketID: SocketID,
        cursorsMax: Int
    ) -> StoredSession? {
        guard case .owner(let former) = state else { return nil }
        let (all, mayLackCursors) = adding(cursors.confirmed, cursorsMax: cursorsMax)
        return StoredSession(
            address,
            parkedAt: nil,
            all,
            socketIDs: former.suffix(SessionResumption.socketIDCountMax - 1) + [socketID],
            mayLackCursors: mayLackCursors,
            answersPings: cursors.answersPings
        )
    }

    /// The live cursors and those of channels that the client did not subscribe to, and whether others may be missing.
    private func adding(
        _ live: [SessionCursor],
        cursorsMax: Int
    ) -> (cursors: [SessionCursor], mayLackCursors: Bool) {
        let rest = dormant.values.prefix(max(0, cursorsMax - live.count)).map(\.cursor)
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
