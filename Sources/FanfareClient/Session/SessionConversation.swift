import PusherProtocol

/// What a session says and hears on a connection that is established.
extension ClientSession {
    mutating func establish(_ socketID: SocketID, _ seconds: Int, at now: Duration) {
        phase = .connected(since: now)
        announced = nil
        // The broker may ask for more frequent signs of life, not for fewer.
        let timeout =
            seconds > 0
            ? min(settings.activityTimeout, .seconds(seconds)) : settings.activityTimeout
        liveness.begin(activityTimeout: timeout, pongTimeout: settings.pongTimeout, at: now)
        effects.append(.startTimer(timeout))
        change(to: .connected(socketID: socketID.description))
        // Ahead of the subscriptions, of which some may be for the user alone.
        beginSignIn(socketID)
        for channel in subscriptions.channels { ask(for: channel) }
    }

    mutating func receiveNext(_ message: ServerMessage, at now: Duration) {
        if case .error = message {} else { announced = nil }
        switch message {
        case .ping: effects.append(.send(.pong))
        case .error(let code, let message):
            if let code, code.mayClose { announced = (code, message) }
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
        case .memberAdded(let channel, let userID, let userInfo):
            addMember(PresenceMember(id: userID, info: userInfo), to: channel, message)
        case .memberRemoved(let channel, let userID):
            removeMember(userID, from: channel, message)
        case .subscriptionCount(let channel, let count):
            if hears(channel) { subscriptions[of: channel]?.count = count }
            deliver(message)
        case .signinSuccess(let userData): completeSignIn(userData, message)
        case .watchlist(let online, let offline):
            watch(online: online, offline: offline, message)
        case .event(let event): receive(event)
        case .cacheMiss: deliver(message)
        case .connectionEstablished, .pong: break
        }
    }

    /// Whether events of a channel are wanted, and not late ones of a channel that the app has left.
    func hears(_ channel: String) -> Bool {
        switch subscriptions[channel] {
        case .pending, .subscribed: true
        case nil, .wanted, .authorizing, .awaitingUser, .refused, .leaving: false
        }
    }

    mutating func deliver(_ message: ServerMessage) {
        guard let event = ChannelEvent(message) else { return }
        deliver(event)
    }

    mutating func deliver(_ event: ChannelEvent) {
        if let channel = event.channel, !hears(channel) { return }
        effects.append(.deliver(event))
        if let channel = event.channel, channel == signIn.channel, !event.isFromProtocol {
            effects.append(.deliverToUser(event))
        }
    }

    private mutating func receive(_ event: ReceivedEvent) {
        if let channel = event.channel, isSealed(channel), !event.name.hasPrefix("pusher") {
            unseal(event, channel)
        } else {
            deliver(.event(event))
        }
    }
}
