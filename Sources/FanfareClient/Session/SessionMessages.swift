import PusherProtocol

/// The messages of the broker.
extension ClientSession {
    /// Handles a message from the broker.
    mutating func receive(_ message: ServerMessage, at now: Duration) -> [SessionEffect] {
        liveness.received(at: now)
        switch phase {
        case .opening: receiveFirst(message, at: now)
        case .connected: receiveNext(message, at: now)
        case .disconnected, .waiting, .failed: break
        }
        return takeEffects()
    }

    /// Handles a message that is not valid in the protocol.
    ///
    /// As the first message it ends the connection, since the server is no broker; later it is reported and skipped.
    mutating func receiveInvalid(_ fault: String, at now: Duration) -> [SessionEffect] {
        liveness.received(at: now)
        switch phase {
        case .opening: fail(.protocolViolation(fault), close: 1002, at: now)
        case .connected: effects.append(.report(.protocolViolation(fault)))
        case .disconnected, .waiting, .failed: break
        }
        return takeEffects()
    }

    /// Records a ping or pong frame.
    mutating func received(at now: Duration) { liveness.received(at: now) }

    private mutating func receiveFirst(_ message: ServerMessage, at now: Duration) {
        switch message {
        case .connectionEstablished(let socketID, let activityTimeout, let receipts):
            establish(socketID, activityTimeout, receipts: receipts, at: now)
        case .error(let code, let message):
            // Without a code the reaction is undefined; the close that follows may have a code.
            guard let code else {
                return effects.append(.report(.reported(code: nil, message: message)))
            }
            effects.append(.close(code: 1000, reason: ""))
            lose(ConnectionLoss(code: code, reason: message), at: now)
        case .ping: effects.append(.send(.pong))
        default:
            let fault =
                "expected pusher:connection_established as the first message, received \(message)"
            fail(.protocolViolation(fault), close: 1002, at: now)
        }
    }

    private mutating func establish(
        _ socketID: SocketID,
        _ seconds: Int,
        receipts: Bool,
        at now: Duration
    ) {
        outbox.expectsReceipts = receipts
        phase = .connected(since: now)
        pendingError = nil
        // The broker may shorten the activity timeout, not extend it.
        let timeout =
            seconds > 0
            ? min(settings.activityTimeout, .seconds(seconds)) : settings.activityTimeout
        liveness.begin(activityTimeout: timeout, pongTimeout: settings.pongTimeout, at: now)
        effects.append(.startTimer(liveness.activityTimeout))
        change(to: .connected(socketID: socketID.description))
        // Before the subscriptions, because some may require the signed-in user.
        beginSignIn(socketID)
        requestSubscriptions()
    }

    private mutating func receiveNext(_ message: ServerMessage, at now: Duration) {
        if case .error = message {} else { pendingError = nil }
        switch message {
        case .ping: effects.append(.send(.pong))
        case .error(let code, let message):
            if let code, code.mayClose { pendingError = (code, message) }
            if code == .unauthorized, signIn.isPending { return refuseSignIn(message) }
            effects.append(.report(.reported(code: code?.rawValue, message: message)))
        case .subscriptionSucceeded(let channel, let data):
            confirm(channel, message, data, at: now)
        case .subscriptionError(let channel, let kind, let text, let status):
            let error = FanfareError.subscriptionRefused(
                channel: channel,
                kind: kind,
                message: text,
                status: status == 0 ? nil : status
            )
            brokerRefused(channel, message, error)
        case .memberAdded(let channel, _, _), .memberRemoved(let channel, _):
            changeMembers(of: channel, message)
        case .subscriptionCount(let channel, let count):
            if delivers(channel) { subscriptions[of: channel]?.count = count }
            deliver(message)
        case .signinSuccess(let userData): completeSignIn(userData, message)
        case .watchlist(let online, let offline):
            updateWatchlist(online: online, offline: offline, message)
        case .event(let event): receive(event, at: now)
        case .position(let channel, let serial, let key):
            receivePosition(serial, on: channel, at: now)
            if let key { effects += outbox.confirm(key, on: channel) }
        case .cacheMiss: deliver(message)
        case .connectionEstablished, .pong: break
        }
    }

    /// Whether the client delivers events of a channel; late events of a channel that the app has unsubscribed from are
    /// not.
    func delivers(_ channel: String) -> Bool {
        switch subscriptions[channel] {
        case .pending, .subscribed: true
        case nil, .wanted, .authorizing, .awaitingUser, .refused, .postponed, .leaving: false
        }
    }

    mutating func deliver(_ message: ServerMessage) {
        guard let event = ChannelEvent(message) else { return }
        deliver(event)
    }

    mutating func deliver(_ event: ChannelEvent, at position: ChannelPosition? = nil) {
        if let channel = event.channel, !delivers(channel) { return }
        effects.append(.deliver(event, at: position))
        if let channel = event.channel, channel == signIn.channel, !event.isFromProtocol {
            effects.append(.deliverToUser(event, at: position))
        }
    }

    private mutating func changeMembers(of channel: String, _ message: ServerMessage) {
        guard delivers(channel), subscriptions[of: channel]?.roster != nil else {
            return deliver(message)
        }
        let membersMax = settings.membersMax
        do throws(FanfareError) {
            guard
                let change = try subscriptions[of: channel]?.roster?
                    .receive(message, membersMax: membersMax)
            else { return }
            deliver(message)
            effects.append(.presence(channel: channel, change))
        } catch {
            effects.append(.report(error))
        }
    }

    private mutating func receive(_ event: ReceivedEvent, at now: Duration) {
        guard let channel = event.channel else { return deliver(.event(event)) }
        guard case .next(let position) = advance(channel, to: event.serial) else { return }
        if isEncrypted(channel), !event.name.hasPrefix("pusher") {
            receiveEncrypted(event, channel, at: position)
        } else if let event = ChannelEvent(.event(event)) {
            deliver(event, at: position)
        }
        finishReplay(of: channel, at: now)
    }

    // MARK: Encrypted events

    /// Whether the events of a channel must be decrypted.
    private func isEncrypted(_ channel: String) -> Bool {
        settings.decrypter != nil && settings.signer == nil
            && ChannelKind(ofName: channel).isEncrypted
    }

    /// Decrypts and delivers an event, or holds it while a new key is requested.
    private mutating func receiveEncrypted(
        _ event: ReceivedEvent,
        _ channel: String,
        at position: ChannelPosition?,
        mayRequestKey: Bool = true
    ) {
        guard delivers(channel), let decrypter = settings.decrypter, let socketID else { return }
        let outcome = subscriptions[of: channel]?.decryption.receive(
            event,
            at: position,
            with: decrypter,
            mayRequestKey: mayRequestKey && settings.authorizes,
            now: liveness.receivedAt
        )
        switch outcome {
        case .opened(let text):
            deliver(
                ChannelEvent(name: event.name, channel: channel, data: text, userID: event.userID),
                at: position
            )
        case .needsKey:
            let ticket = tickets.add(.secret(channel))
            subscriptions[of: channel]?.decryption.ticket = ticket
            effects.append(
                .requestKey(ticket: ticket, channel: channel, socketID: socketID.description)
            )
            // Held now.
            receiveEncrypted(event, channel, at: position)
        case .failed(let reason):
            if let position { pass(position, on: channel) }
            guard let event = ChannelEvent(.event(event)) else { return }
            effects.append(.report(.undecryptable(event: event, reason: reason)))
        case .held, nil: break
        }
    }

    /// Handles the response to the request for a new key: decrypts the held events with it, in order.
    mutating func receiveSecret(
        for channel: String,
        _ outcome: Result<ChannelAuthorization, AuthorizationFailure>
    ) {
        switch outcome {
        case .success(let authorization): sign(channel, with: authorization)
        case .failure(let failure):
            effects.append(.report(.authorizationFailed(channel: channel, failure)))
        }
        let secret = try? outcome.get().sharedSecret
        let isNew = subscriptions[of: channel]?.decryption.endRequest(secret) == true
        decryptHeld(of: channel, mayRequestKey: isNew)
    }

    /// Decrypts the held events.
    ///
    /// The first of them does not request another key, because this key was requested for it.
    mutating func decryptHeld(of channel: String, mayRequestKey: Bool = false) {
        let held = subscriptions[of: channel]?.decryption.takeHeld() ?? []
        for (index, (event, position)) in held.enumerated() {
            let mayRequestKey = mayRequestKey && index > 0
            receiveEncrypted(event, channel, at: position, mayRequestKey: mayRequestKey)
        }
    }
}
