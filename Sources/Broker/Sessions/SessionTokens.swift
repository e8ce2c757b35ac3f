public import PusherProtocol

/// Stock clients with a session token: the broker keeps their positions.
extension Session {
    /// Whether the connection has a session token.
    public var hasToken: Bool { extras.hasRecovery }

    /// Begins to keep positions for a client with a session token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - now: Nanoseconds of the broker's steady clock, the same for all shards.
    public mutating func use(_ token: SessionToken, at now: Int64) {
        extras.recovery = TokenRecovery(
            SessionAddress(app: app.id, key: token.key(inApp: app.id.text)),
            createdAt: token.createdAt,
            openedAt: now
        )
    }

    /// The effects of a valid subscription of a client that does not track its position itself.
    mutating func join(_ channel: ChannelName, as member: Member?, request: UInt32) -> Effects {
        let waiting = TokenRecovery.WaitingJoin(channel: channel, member: member, request: request)
        switch extras.recovery?.state {
        case .unclaimed:
            let claim = extras.recovery?.claim(waiting, by: socketID)
            return claim.map { Effects(.claimSession($0)) } ?? []
        case .claiming:
            extras.recovery?.waiting.append(waiting)
            return []
        case .owner:
            let position = extras.recovery?.request(channel, from: socketID) ?? PositionRequest()
            return Effects(.joinFrom(position, channel, as: member, request: request))
        case .superseded, .shared, .withoutRecovery, nil:
            return Effects(.join(channel, as: member, request: request))
        }
    }

    /// Handles the answer to the claim of the session.
    ///
    /// - Returns: The subscriptions that have waited for it, and an error if the token resumes nothing.
    public mutating func receive(_ answer: SessionAnswer) -> Effects {
        guard case .claiming = extras.recovery?.state else { return [] }
        var effects: [Effect] = []
        switch answer {
        case .owned(let resumption): extras.recovery?.own(resumption)
        case .superseded: extras.recovery?.state = .superseded
        case .shared:
            extras.recovery?.state = .shared
            effects.append(.send(Self.sharedError))
        case .full(let sessionsMax, let mayLackCursors):
            extras.recovery?.state = .withoutRecovery
            extras.recovery?.mayLackCursors = mayLackCursors
            let message =
                "The app has \(sessionsMax) sessions, all in use: this connection has no recovery"
            effects.append(.send(.error(code: nil, message: message)))
        }
        for waiting in takeWaitingJoins() {
            effects += join(waiting.channel, as: waiting.member, request: waiting.request)
        }
        return Effects(effects)
    }

    private mutating func takeWaitingJoins() -> [TokenRecovery.WaitingJoin] {
        guard let waiting = extras.recovery?.waiting, !waiting.isEmpty else { return [] }
        extras.recovery?.waiting = []
        return waiting
    }

    private static var sharedError: ServerMessage {
        .error(
            code: nil,
            message:
                "Two clients use one session token: it resumes nothing any more. Make a token where "
                + "the client is made, never in a page that is cached or duplicated"
        )
    }

    /// Removes the subscriptions of which the homes of the channels do not know.
    mutating func removeWaitingJoins() {
        for waiting in takeWaitingJoins() { _ = subscriptions.remove(waiting.channel) }
    }

    // MARK: - Grants

    /// Called with the grant of a subscription, before it is acknowledged.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - start: Where the subscription begins in the channel's stream; `nil` if it has none.
    /// - Returns: What the client is told; `nil` for a client whose positions are not kept by the broker.
    public mutating func begin(
        _ channel: ChannelName,
        at start: SubscriptionStart?
    ) -> TokenStart? {
        switch extras.recovery?.state {
        case nil: return nil
        case .shared: return TokenStart(isResumed: false, gap: RecoveryGap(.sharedSession))
        case .withoutRecovery:
            return extras.recovery?.mayLackCursors == true
                ? TokenStart(isResumed: false, gap: RecoveryGap(.unknownSession)) : nil
        case .unclaimed, .claiming, .owner, .superseded: break
        }
        guard let start else { return nil }
        return extras.recovery?.begin(channel, start)
    }

    /// Called when a channel whose position is kept goes on in another stream.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - start: Where the client stands in that stream.
    /// - Returns: The gap to tell, which is owed until it is confirmed.
    public mutating func restart(
        _ channel: ChannelName,
        at start: SubscriptionStart
    ) -> RecoveryGap? {
        guard isKept(channel), case .gap(let gap) = start.continuity else { return nil }
        extras.recovery?.cursors.begin(channel, start, gap: gap)
        return gap
    }

    /// Whether the broker keeps the position of a client in a channel.
    public func isKept(_ channel: ChannelName) -> Bool {
        extras.recovery?.cursors.contains(channel) ?? false
    }

    // MARK: - Confirmation

    /// Whether something was handed over that no ping follows.
    public var hasUnasked: Bool { extras.recovery?.cursors.hasUnasked ?? false }

    /// Whether the client has not confirmed something that it got.
    public var hasUnconfirmed: Bool { extras.recovery?.cursors.hasUnconfirmed ?? false }

    /// Whether a ping is outstanding that asks for a confirmation.
    public var awaitsPong: Bool { extras.recovery?.cursors.awaitsPong ?? false }

    /// Notes that a channel's messages up to `serial` were handed over.
    ///
    /// - Returns: The serial up to which they were by now; `nil` for a channel whose position is not kept.
    public mutating func handOver(_ serial: UInt64, of channel: ChannelName) -> UInt64? {
        extras.recovery?.cursors.handOver(serial, of: channel)
    }

    /// Notes how far the messages of each channel were handed over.
    ///
    /// - Parameter mark: The serial of a channel; `nil` for a channel of which it is not known.
    public mutating func handOver(upTo mark: (ChannelName) -> UInt64?) {
        extras.recovery?.cursors.handOver(upTo: mark)
    }

    /// The pings to write behind what was handed over; `nil` if there is nothing to confirm, or one is outstanding.
    ///
    /// - Parameters:
    ///   - now: Milliseconds of a steady clock.
    ///   - isUrgent: Whether to ask although the client was asked a moment ago.
    /// - Returns: What to write; `nil` for nothing.
    public mutating func ask(at now: Int64, isUrgent: Bool = false) -> ConfirmationPings.Request? {
        extras.recovery?.cursors.ask(at: now, isUrgent: isUrgent)
    }

    /// Handles a `pusher:pong`, or a pong frame with a number.
    ///
    /// - Parameters:
    ///   - frame: The number of the pong frame; `nil` for a `pusher:pong`.
    ///   - now: Milliseconds of a steady clock.
    /// - Returns: What it shows.
    public mutating func receivePong(frame: UInt16?, at now: Int64) -> PongOutcome {
        guard let state = extras.recovery?.state else { return .nothing }
        switch state {
        case .superseded:
            let lives = extras.recovery?.cursors.passesCheck(frame) ?? false
            return lives ? extras.recovery.map { .isAlive($0.address) } ?? .nothing : .nothing
        case .owner:
            let channels =
                if let frame {
                    extras.recovery?.cursors.receivePongFrame(frame, at: now)
                } else {
                    extras.recovery?.cursors.receivePong()
                }
            guard let channels, !channels.isEmpty else { return .nothing }
            return .confirmed(channels)
        case .unclaimed, .claiming, .shared, .withoutRecovery: return .nothing
        }
    }

    /// What the answer to a ping shows.
    public enum PongOutcome: Sendable, Equatable {
        /// Nothing.
        case nothing
        /// A connection that another one has superseded in its session lives.
        case isAlive(SessionAddress)
        /// Something of these channels is confirmed; see ``Session/confirmedPosition(in:)``.
        case confirmed([ChannelName])
    }

    /// The confirmed position of the client in a channel; `nil` for a channel whose position is not kept.
    public func confirmedPosition(in channel: ChannelName) -> ChannelPosition? {
        extras.recovery?.cursors.confirmedPosition(in: channel)
    }

    // MARK: - Storage

    /// The session of the client's token, to be kept over a crash; `nil` if this connection does not own one.
    public var stored: StoredSession? {
        extras.recovery?.stored(as: socketID, cursorsMax: app.limits.subscriptionsMax)
    }

    // MARK: - Other connections of the token

    /// Hands the session over to a later connection.
    ///
    /// - Parameter openedAt: When that connection was opened, in milliseconds of a steady clock.
    /// - Returns: The confirmed positions; `nil` if this connection does not own its session.
    public mutating func yield(openedAt: Int64) -> SessionHandover? {
        extras.recovery?.handOver(
            from: socketID,
            as: .superseded,
            at: openedAt,
            cursorsMax: app.limits.subscriptionsMax
        )
    }

    /// The pings by which a superseded connection shows whether its client lives; `nil` for any other.
    public mutating func check() -> ConfirmationPings.Request? {
        guard case .superseded = extras.recovery?.state else { return nil }
        return extras.recovery?.cursors.beginCheck()
    }

    /// Tells the client that another one uses its token.
    public mutating func share() -> Effects {
        guard extras.recovery != nil else { return [] }
        _ = yield(openedAt: 0)
        extras.recovery?.state = .shared
        var effects: [Effect] = [.send(Self.sharedError)]
        subscriptions.forEachChannel { channel in
            guard isActive(on: channel) else { return }
            effects.append(.send(.gap(RecoveryGap(.sharedSession), on: channel)))
        }
        return Effects(effects)
    }
}
