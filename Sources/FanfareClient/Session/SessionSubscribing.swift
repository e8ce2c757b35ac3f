import PusherProtocol

/// Subscribes to channels and unsubscribes from them.
extension ClientSession {
    /// Returns the state of a subscription; `nil` if the app has not subscribed.
    func subscription(to channel: String) -> Subscription.State? { subscriptions[channel] }

    /// Subscribes now or when connected, and again on each later connection.
    ///
    /// The position of a channel that is subscribed stays, because its readers continue there: a lease that begins
    /// before it gets a gap.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - token: A signature for this connection; `nil` to request one if the channel requires it.
    ///   - lease: The lease that begins; ``LeaseStart/own`` for the app itself.
    ///   - origin: The start of a new subscription; without a position the known one is used.
    ///   - fresh: Whether a new subscription without a position begins at the present.
    ///   - now: The time.
    /// - Returns: The effects.
    mutating func subscribe(
        to channel: String,
        with token: ChannelAuthorization? = nil,
        for lease: Int = LeaseStart.own,
        from origin: ChannelTracking? = nil,
        fresh: Bool = false,
        at now: Duration
    ) -> [SessionEffect] {
        let isNew = subscriptions[of: channel]?.isNew ?? true
        if !isNew { begin(LeaseStart(lease: lease, position: origin?.position), of: channel) }
        switch subscriptions[channel] {
        case .pending, .subscribed: return takeEffects()
        case .authorizing, .awaitingUser:
            guard token != nil else { return takeEffects() }
            cancelTickets(of: channel)
        case .leaving:
            let kept = takeLeft(channel, from: origin, fresh: fresh, at: now)
            let start = start(of: channel, from: origin, fresh: fresh)
            subscriptions[of: channel]?.begin(from: start, or: kept)
            sign(channel, with: token)
            return takeEffects()
        case .postponed: effects.append(.stopAlarm(.subscription(channel)))
        case nil, .wanted, .refused: break
        }
        if isNew { begin(channel, from: origin, fresh: fresh, at: now) }
        subscriptions[channel] = .wanted
        sign(channel, with: token)
        if case .connected = phase { requestSubscription(to: channel) }
        return takeEffects()
    }

    /// Begins a lease of a subscribed channel.
    private mutating func begin(_ start: LeaseStart, of channel: String) {
        guard let gap = subscriptions[of: channel]?.begin(start) else { return }
        let position = subscriptions[of: channel]?.tracking.position
        effects.append(.leaseGap(channel: channel, lease: start.lease, gap, at: position))
    }

    /// Begins a subscription at the app's position, else where the app left the channel, else at the stored position.
    private mutating func begin(
        _ channel: String,
        from origin: ChannelTracking?,
        fresh: Bool,
        at now: Duration
    ) {
        if let kept = takeLeft(channel, from: origin, fresh: fresh, at: now) {
            subscriptions.restore(kept, to: channel)
        }
        subscriptions[channel] = .wanted
        subscriptions[of: channel]?.isFresh = fresh
        guard subscriptions[of: channel]?.tracking.position == nil,
            let start = start(of: channel, from: origin, fresh: fresh)
        else { return }
        subscriptions[of: channel]?.tracking = start
    }

    /// Keeps a signature for the current connection, or for the next one if there is none.
    mutating func sign(_ channel: String, with token: ChannelAuthorization?) {
        guard let token else { return }
        let validity = socketID == nil ? ConnectionSignature.Validity.next : .current
        let signature = ConnectionSignature(authorization: token, validity: validity)
        subscriptions[of: channel]?.signature = signature
    }

    /// Unsubscribes: no further event of the channel is delivered; its position is kept for the grace.
    mutating func unsubscribe(from channel: String, at now: Duration) -> [SessionEffect] {
        guard let state = subscriptions[channel], state != .leaving else { return [] }
        let dropped = subscriptions.keep(channel, at: now, for: settings.resubscribeGrace)
        switch state {
        case .leaving: break
        case .wanted, .refused, .authorizing, .awaitingUser:
            cancelTickets(of: channel)
            subscriptions[channel] = nil
        case .postponed:
            effects.append(.stopAlarm(.subscription(channel)))
            subscriptions[channel] = nil
        case .pending: subscriptions[of: channel]?.leave()
        case .subscribed:
            cancelTickets(of: channel)
            subscriptions[channel] = nil
            effects.append(.send(.unsubscribe(channel: channel)))
        }
        let error = FanfareError.unsubscribed(channel: channel)
        effects += outbox.drop(of: channel, because: error)
        effects.append(.refused(channel: channel, error))
        effects += dropped.map { .forget(channel: $0) }
        return takeEffects()
    }

    /// The connection's socket ID; `nil` without a connection.
    var socketID: SocketID? {
        if case .connected(let id) = status { SocketID(id) } else { nil }
    }

    /// Begins all subscriptions that have not begun on this connection.
    mutating func requestSubscriptions() {
        for channel in subscriptions.channels where subscriptions[channel] == .wanted {
            requestSubscription(to: channel)
        }
    }

    /// Starts a subscription on the current connection.
    mutating func requestSubscription(to channel: String) {
        guard let socketID, !awaitsPositions else { return }
        if let signer = settings.signer {
            let auth = signer.auth(of: channel, on: socketID)
            return join(channel, auth: auth, channelData: nil)
        }
        let kind = ChannelKind(ofName: channel)
        if kind == .serverToUser, signIn.isUnderWay {
            subscriptions[channel] = .awaitingUser
        } else if !kind.requiresSignature {
            join(channel, auth: nil, channelData: nil)
        } else if kind.isEncrypted, settings.decrypter == nil {
            refuse(channel, .decrypterMissing(channel: channel))
        } else if let signature = subscriptions[of: channel]?.signature {
            if signature.validity == .outdated {
                authorize(channel, socketID, orElse: .outdated)
            } else {
                // Kept for later attempts on this connection.
                subscriptions[of: channel]?.signature?.validity = .current
                subscribe(channel, authorizedBy: signature.authorization)
            }
        } else {
            authorize(channel, socketID, orElse: .notConfigured)
        }
    }

    private mutating func authorize(
        _ channel: String,
        _ socketID: SocketID,
        orElse failure: AuthorizationFailure
    ) {
        guard settings.authorizes else {
            return refuse(channel, .authorizationFailed(channel: channel, failure))
        }
        let ticket = tickets.add(.join(channel))
        subscriptions[channel] = .authorizing(ticket)
        effects.append(
            .authorize(ticket: ticket, channel: channel, socketID: socketID.description)
        )
    }

    /// Handles the outcome of a request for a channel.
    mutating func authorized(
        _ ticket: Int,
        _ outcome: Result<ChannelAuthorization, AuthorizationFailure>
    ) -> [SessionEffect] {
        switch tickets.remove(ticket) {
        case .join(let channel) where subscriptions[channel] == .authorizing(ticket):
            switch outcome {
            case .success(let authorization):
                sign(channel, with: authorization)
                subscribe(channel, authorizedBy: authorization)
            case .failure(let failure):
                let error = FanfareError.authorizationFailed(channel: channel, failure)
                if failure.isTemporary { postpone(channel, error) } else { refuse(channel, error) }
            }
        case .secret(let channel) where subscriptions[of: channel]?.decryption.ticket == ticket:
            receiveSecret(for: channel, outcome)
        case nil, .join, .secret, .user: break
        }
        return takeEffects()
    }

    /// Cancels the requests of a channel.
    mutating func cancelTickets(of channel: String) {
        effects += tickets.cancel(subscriptions[of: channel]?.tickets ?? [])
    }

    /// Continues a subscription with the backend's signature.
    mutating func subscribe(_ channel: String, authorizedBy authorization: ChannelAuthorization) {
        let kind = ChannelKind(ofName: channel)
        if kind.isEncrypted {
            guard let secret = authorization.sharedSecret else {
                let fault = "the response for \(channel) has no \"shared_secret\""
                return refuse(channel, malformed: "\(fault). \(AuthorizationResponse.advice)")
            }
            subscriptions[of: channel]?.decryption.secret = secret
        }
        if kind.isPresence {
            if let data = authorization.channelData {
                guard let id = JSONMembers(data)?.identifier("user_id"), !id.isEmpty else {
                    let fault = "the \"channel_data\" of \(channel) has no \"user_id\""
                    return refuse(channel, malformed: "\(fault): expected {\"user_id\":\"7\"}")
                }
                subscriptions[of: channel]?.memberID = id
            } else if let user = signIn.user {
                subscriptions[of: channel]?.memberID = user.id
            } else if signIn.isUnderWay {
                subscriptions[of: channel]?.authorization = authorization
                subscriptions[channel] = .awaitingUser
                return
            } else {
                let fault = "the response for \(channel) has no \"channel_data\""
                let reason = "\(fault), and no user is signed in. \(AuthorizationResponse.advice)"
                return refuse(channel, malformed: reason)
            }
        }
        join(channel, auth: authorization.auth, channelData: authorization.channelData)
    }

    /// Sends the subscription to the broker.
    mutating func join(_ channel: String, auth: String?, channelData: String?) {
        subscriptions[channel] = .pending
        let position = subscriptions[of: channel]?.tracking.request
        let message = ClientMessage.subscribe(
            channel: channel,
            auth: auth,
            channelData: channelData,
            position: position
        )
        effects.append(.send(message))
    }

    mutating func confirm(
        _ channel: String,
        _ message: ServerMessage,
        _ data: String,
        at now: Duration
    ) {
        switch subscriptions[channel] {
        case .pending where subscriptions[of: channel]?.nextTracking != nil:
            effects.append(.send(.unsubscribe(channel: channel)))
            subscribeFromNext(channel)
        case .pending, .refused:
            subscriptions[of: channel]?.confirm()
            // Before the success is delivered, so that its callbacks find the members.
            let change = replaceMembers(of: channel, data)
            effects.append(.subscribed(channel: channel))
            let isTracked = acknowledge(channel, data)
            // The position in the data is reported as a Continuity; apps receive the data of other brokers unchanged.
            deliver(
                isTracked && !ChannelKind(ofName: channel).isPresence
                    ? .subscriptionSucceeded(channel: channel, data: "{}") : message
            )
            if let change { effects.append(.presence(channel: channel, change)) }
            decryptHeld(of: channel)
            finishReplay(of: channel, at: now)
            sendClientEvents(at: now)
        case .subscribed:
            acknowledge(channel, data, isLive: true)
            finishReplay(of: channel, at: now)
        case .leaving:
            subscriptions[channel] = nil
            effects.append(.send(.unsubscribe(channel: channel)))
        case nil, .wanted, .authorizing, .awaitingUser, .postponed: break
        }
    }

    /// Replaces the list of members with that of a successful subscription; `nil` if it is not a presence channel.
    private mutating func replaceMembers(of channel: String, _ data: String) -> PresenceChange? {
        guard ChannelKind(ofName: channel).isPresence else { return nil }
        let members = PresenceMember.members(inSuccess: data)
        if members.count > settings.membersMax {
            let limit = "\(members.count) members, more than the limit of \(settings.membersMax)"
            effects.append(.report(.protocolViolation("\(channel) has \(limit)")))
        }
        let roster = PresenceRoster(
            members: Array(members.prefix(settings.membersMax)),
            myID: subscriptions[of: channel]?.memberID ?? signIn.user?.id
        )
        defer { subscriptions[of: channel]?.roster = roster }
        return PresenceChange(from: subscriptions[of: channel]?.roster, to: roster)
    }

    mutating func brokerRefused(_ channel: String, _ message: ServerMessage, _ error: FanfareError)
    {
        switch subscriptions[channel] {
        case .pending where subscriptions[of: channel]?.nextTracking != nil:
            subscriptions[of: channel]?.signature = nil
            subscribeFromNext(channel)
        case .pending:
            deliver(message)
            if case .subscriptionError(_, "InvalidPosition", _, _) = message {
                forgetPosition(of: channel)
            }
            if FanfareError.isOverload(error.status) {
                postpone(channel, error)
            } else {
                close(channel, error)
            }
        case .leaving:
            subscriptions[channel] = nil
            subscriptions.refuseSignature(ofLeft: channel)
        case nil, .wanted, .authorizing, .awaitingUser, .postponed, .subscribed, .refused: break
        }
    }

    // MARK: Temporary failures

    /// Tries a subscription again after a delay that grows with each consecutive failure.
    mutating func postpone(_ channel: String, _ error: FanfareError) {
        let failures = subscriptions[of: channel]?.failures ?? 0
        let delay = settings.backoff.delay(failures: failures, using: &generator)
        subscriptions[channel] = .postponed
        subscriptions[of: channel]?.failures = failures + 1
        subscriptions[of: channel]?.refusal = error
        effects += [
            .startAlarm(.subscription(channel), delay), .postponed(channel: channel, error),
        ]
    }

    /// Makes the next attempt at a postponed subscription.
    mutating func retrySubscription(to channel: String) {
        guard subscriptions[channel] == .postponed else { return }
        subscriptions[channel] = .wanted
        requestSubscription(to: channel)
    }

    /// Fails a subscription in the client; the app sees it like a refusal by the broker.
    mutating func refuse(_ channel: String, _ error: FanfareError) {
        effects.append(.deliver(ChannelEvent(refusalOf: channel, error)))
        close(channel, error)
    }

    private mutating func refuse(_ channel: String, malformed reason: String) {
        refuse(channel, .authorizationFailed(channel: channel, .malformed(reason)))
    }

    private mutating func close(_ channel: String, _ error: FanfareError) {
        subscriptions[of: channel]?.refuse(error)
        effects += outbox.drop(of: channel, because: error)
        effects.append(.refused(channel: channel, error))
    }
}
