public import PusherProtocol

/// Stock clients with a session token: the broker keeps their positions.
extension Session {
    /// Whether the connection has a session token.
    public var hasToken: Bool { extras.hasRecovery }

    /// How long the position of a channel that was left is kept, in milliseconds.
    var resubscribeGrace: Int64 { Int64(app.recovery.resubscribeGrace) * 1_000 }

    private var sessionAddress: SessionAddress {
        SessionAddress(app: app.id, key: extras.recovery.key)
    }

    private var recoveryState: TokenRecovery.State? { hasToken ? extras.recovery.state : nil }

    /// Begins to keep positions for a client with a session token.
    ///
    /// `now` is in nanoseconds of the broker's steady clock, the same for all shards. The client has to confirm parts
    /// of a replay of at least `partLengthMin` bytes.
    public mutating func use(
        _ token: SessionToken,
        at now: Int64,
        partLengthMin: Int = ConfirmationPings.partLengthMin
    ) {
        extras.use(
            TokenRecovery(
                token.key(inApp: app.id.text),
                of: token,
                openedAt: now,
                pings: ConfirmationPings(partLengthMin: partLengthMin)
            )
        )
    }

    /// The effects of a valid subscription of a client that does not track its position itself.
    mutating func join(_ channel: ChannelName, as member: Member?, request: UInt32) -> Effects {
        let waiting = TokenRecovery.WaitingJoin(channel: channel, member: member, request: request)
        switch recoveryState {
        case .unclaimed(let createdAt, let openedAt, let isUnused):
            extras.recovery.wait(waiting)
            let claim = SessionClaim(
                sessionAddress,
                createdAt: createdAt,
                isUnused: isUnused,
                socketID: socketID,
                openedAt: openedAt
            )
            return Effects(.claimSession(claim))
        case .claiming:
            extras.recovery.wait(waiting)
            return []
        case .owner:
            let position = extras.recovery.request(channel, from: socketID)
            return Effects(.joinFrom(position, channel, as: member, request: request))
        case .superseded, .shared, .withoutRecovery, nil:
            return Effects(.join(channel, as: member, request: request))
        }
    }

    /// Handles the answer to the claim of the session.
    ///
    /// - Returns: The subscriptions that have waited for it, and an error if the token resumes nothing.
    public mutating func receive(_ answer: SessionAnswer) -> Effects {
        guard case .claiming(let joins) = recoveryState else { return [] }
        var effects: [Effect] = []
        switch answer {
        case .owned(let resumption): extras.recovery.own(resumption)
        case .superseded: extras.recovery.state = .superseded
        case .shared:
            extras.recovery.state = .shared
            effects.append(.send(Self.sharedError))
        case .full(let sessionsMax, let mayLackCursors):
            extras.recovery.state = .withoutRecovery
            extras.recovery.mayLackCursors = mayLackCursors
            let message =
                "The app has \(sessionsMax) sessions, all in use: this connection has no recovery"
            effects.append(.send(.error(code: nil, message: message)))
        }
        for waiting in joins {
            effects += join(waiting.channel, as: waiting.member, request: waiting.request)
        }
        return Effects(effects)
    }

    private static var sharedError: ServerMessage {
        .error(
            code: nil,
            message:
                "Two clients use one session token: it no longer resumes anything. Create the "
                + "token with the client, never in a page that is cached or duplicated"
        )
    }

    /// Removes the subscriptions that the homes of the channels do not know of.
    mutating func removeWaitingJoins() {
        guard hasToken else { return }
        for waiting in extras.recovery.takeWaiting() { _ = subscriptions.remove(waiting.channel) }
    }

    // MARK: - Grants

    /// Called with the grant of a subscription, before it is acknowledged; returns the data for the client.
    ///
    /// `start` is `nil` if the channel has no stream. `former` is where the subscription begins in the first of the
    /// sealed streams that are replayed before it; see ``goOn(_:at:)``. Returns `nil` for a client whose positions are
    /// not kept by the broker.
    public mutating func begin(
        _ channel: ChannelName,
        at start: SubscriptionStart?,
        behind former: SubscriptionStart? = nil
    ) -> TokenStart? {
        switch recoveryState {
        case nil: return nil
        case .shared: return TokenStart(isResumed: false, gap: RecoveryGap(.sharedSession))
        case .withoutRecovery:
            return extras.recovery.mayLackCursors
                ? TokenStart(isResumed: false, gap: RecoveryGap(.unknownSession)) : nil
        case .unclaimed, .claiming, .owner, .superseded: break
        }
        guard let start else {
            extras.recovery.endRequest(channel)
            return nil
        }
        return extras.recovery.begin(channel, start, behind: former)
    }

    /// Records that messages of a replay were handed over, up to the last serial.
    ///
    /// The length is that of their frames, in bytes, and ``ConfirmationPings/messageLength`` for each.
    public mutating func replay(upTo serial: UInt64, of channel: ChannelName, length: Int) {
        if hasToken { extras.recovery.cursors.replay(upTo: serial, of: channel, length: length) }
    }

    /// How much may be replayed before the client is asked to confirm that part, in bytes.
    public var replayLengthLeft: Int {
        hasToken ? extras.recovery.cursors.replayLengthLeft : .max
    }

    /// Continues the position in a channel that continues in another stream, with nothing missing between the two.
    public mutating func goOn(_ channel: ChannelName, at start: SubscriptionStart) {
        if hasToken { extras.recovery.cursors.goOn(channel, at: start) }
    }

    /// Called when a channel whose position is kept continues in another stream, at the client's position there.
    ///
    /// - Returns: The gap to report to the client until it is confirmed; `nil` if nothing is missing.
    public mutating func restart(
        _ channel: ChannelName,
        at start: SubscriptionStart
    ) -> RecoveryGap? {
        guard isKept(channel) else { return nil }
        guard case .gap(let gap) = start.continuity else {
            goOn(channel, at: start)
            return nil
        }
        extras.recovery.cursors.begin(channel, start, gap: gap)
        return gap
    }

    /// Whether the broker keeps the position of a client in a channel.
    public func isKept(_ channel: ChannelName) -> Bool {
        hasToken && extras.recovery.cursors.contains(channel)
    }

    // MARK: - Confirmation

    /// Whether messages were handed over that no ping follows.
    public var hasUnasked: Bool { hasToken && extras.recovery.cursors.hasUnasked }

    /// Whether the client has not confirmed something that it got.
    public var hasUnconfirmed: Bool { hasToken && extras.recovery.cursors.hasUnconfirmed }

    /// Whether a ping that asks for a confirmation may be written after a grant, at a time in milliseconds of a steady
    /// clock.
    ///
    /// True if no other grant is awaited, and a ping is due: either the replay was long, or no ping is outstanding and
    /// enough time has passed.
    public func canBeAskedBehindGrant(at now: Int64) -> Bool {
        hasToken && !extras.recovery.awaitsGrants
            && extras.recovery.cursors.canBeAsked(behind: .grants, at: now)
    }

    /// Whether a ping is outstanding that asks for a confirmation.
    public var awaitsPong: Bool { hasToken && extras.recovery.cursors.awaitsPong }

    /// Records that a channel's messages up to `serial` were handed over.
    ///
    /// - Returns: The highest serial handed over by now; `nil` for a channel whose position is not kept.
    public mutating func handOver(_ serial: UInt64, of channel: ChannelName) -> UInt64? {
        hasToken ? extras.recovery.cursors.handOver(serial, of: channel) : nil
    }

    /// Records how far the messages of each channel were handed over; `mark` returns `nil` if that is not known.
    public mutating func handOver(upTo mark: (ChannelName) -> UInt64?) {
        if hasToken { extras.recovery.cursors.handOver(upTo: mark) }
    }

    /// The pings to write after what was handed over, at a time in milliseconds of a steady clock.
    ///
    /// `nil` if there is nothing to confirm, or it is too early.
    public mutating func ask(
        at now: Int64,
        behind occasion: ConfirmationPings.Occasion = .messages
    ) -> ConfirmationPings.Request? {
        hasToken ? extras.recovery.cursors.ask(at: now, behind: occasion) : nil
    }

    /// Records that a `pusher:ping` is written that asks for no confirmation: its pong confirms nothing.
    public mutating func notePing() {
        if hasToken { extras.recovery.cursors.notePing() }
    }

    /// Handles a `pusher:pong` (`frame` is `nil`), or a pong frame with a number, at a time in milliseconds of a steady
    /// clock.
    public mutating func receivePong(frame: UInt16?, at now: Int64) -> PongOutcome {
        switch recoveryState {
        case .superseded:
            let lives = extras.recovery.cursors.passesCheck(frame)
            return lives ? .isAlive(sessionAddress) : .nothing
        case .owner:
            let channels =
                if let frame {
                    extras.recovery.cursors.receivePongFrame(frame, at: now)
                } else {
                    extras.recovery.cursors.receivePong()
                }
            return channels.isEmpty ? .nothing : .confirmed(channels)
        case .unclaimed, .claiming, .shared, .withoutRecovery, nil: return .nothing
        }
    }

    /// The meaning of the answer to a ping.
    public enum PongOutcome: Sendable, Equatable {
        /// Nothing.
        case nothing
        /// The client of a superseded connection of this session is alive.
        case isAlive(SessionAddress)
        /// Something of these channels is confirmed; see ``Session/confirmedPosition(in:)``.
        case confirmed([ChannelName])
    }

    /// The confirmed position of the client in a channel; `nil` for a channel whose position is not kept.
    public func confirmedPosition(in channel: ChannelName) -> ChannelPosition? {
        hasToken ? extras.recovery.cursors.confirmedPosition(in: channel) : nil
    }

    // MARK: - Storage

    /// The session of the client's token, to be stored for a crash; `nil` if this connection does not own one.
    public var stored: StoredSession? {
        guard hasToken else { return nil }
        return extras.recovery.stored(
            sessionAddress,
            as: socketID,
            cursorsMax: app.limits.subscriptionsMax
        )
    }

    // MARK: - Other connections of the token

    /// Hands the session over to a later connection, as it was at a time in milliseconds of a steady clock.
    ///
    /// - Returns: The confirmed positions; `nil` if this connection does not own its session.
    public mutating func yield(at time: Int64) -> SessionHandover? {
        guard hasToken else { return nil }
        return extras.recovery.handOver(
            sessionAddress,
            from: socketID,
            at: time,
            cursorsMax: app.limits.subscriptionsMax
        )
    }

    /// The pings that check whether the client of a superseded connection is alive; `nil` for any other.
    public mutating func check() -> ConfirmationPings.Request? {
        guard case .superseded = recoveryState else { return nil }
        return extras.recovery.cursors.beginCheck()
    }

    /// Notifies the client that another one uses its token.
    public mutating func share() -> Effects {
        // A superseded client answers two pings, and the home receives both answers: the client is notified once.
        guard hasToken, !extras.recovery.isShared else { return [] }
        _ = yield(at: 0)
        extras.recovery.state = .shared
        var effects: [Effect] = [.send(Self.sharedError)]
        subscriptions.forEachChannel { channel in
            guard isActive(on: channel) else { return }
            effects.append(.send(.gap(RecoveryGap(.sharedSession), on: channel)))
        }
        return Effects(effects)
    }
}
