import PusherProtocol

/// The session's positions in its channels' streams.
extension ClientSession {
    /// Handles the acknowledgement of a subscription, reports its continuity, and returns whether the broker keeps
    /// positions.
    @discardableResult
    mutating func acknowledge(_ channel: String, _ data: String, isLive: Bool = false) -> Bool {
        let start = SubscriptionStart(acknowledgement: data)
        let socketID = socketID
        let continuity = subscriptions[of: channel]?.tracking.acknowledged(
            start,
            on: socketID,
            isLive: isLive
        )
        guard let continuity else { return start != nil }
        tell(continuity, of: channel)
        return start != nil
    }

    private mutating func tell(_ continuity: Continuity, of channel: String) {
        let isAgain = subscriptions[of: channel]?.wasConfirmed == true
        subscriptions[of: channel]?.wasConfirmed = true
        var position = subscriptions[of: channel]?.tracking.position
        // No message has moved the position: the app may still be handling earlier messages.
        if case .resumed = continuity { position = nil }
        effects.append(.continuity(channel: channel, continuity, at: position))
        switch continuity {
        case .gap(let gap): effects.append(.gap(channel: channel, gap))
        case .unknown where isAgain:
            effects.append(.gap(channel: channel, Gap(.brokerHasNoHistory)))
        case .unknown, .began, .rewound, .resumed: break
        }
        if channel == signIn.channel { tellUser(continuity) }
    }

    /// Reports the continuity of the user's own channel.
    private mutating func tellUser(_ continuity: Continuity) {
        let isAgain = exchange(&signIn.wasConfirmed, with: true)
        var continuity = continuity
        // The channel belongs to another user.
        if isAgain, continuity == .began { continuity = .gap(Gap(.unknownStream)) }
        effects.append(.continuity(channel: Topic.user, continuity, at: nil))
        switch continuity {
        case .gap(let gap) where isAgain: effects.append(.gap(channel: Topic.user, gap))
        case .unknown where isAgain:
            effects.append(.gap(channel: Topic.user, Gap(.brokerHasNoHistory)))
        case .gap, .unknown, .began, .rewound, .resumed: break
        }
    }

    /// Handles the number of a channel's event.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - serial: The number; `nil` for an event that is not part of a stream.
    ///   - position: Receives the event's position.
    /// - Returns: Whether to deliver the event.
    mutating func advance(
        _ channel: String,
        to serial: UInt64?,
        _ position: inout ChannelPosition?
    ) -> Bool {
        guard let serial else {
            subscriptions[of: channel]?.tracking.receivedEventWithoutNumber()
            return true
        }
        switch subscriptions[channel] {
        case .subscribed: break
        // After a hole: the message belongs to the previous subscription and will be replayed.
        case .pending: return false
        default: return true
        }
        switch subscriptions[of: channel]?.tracking.receive(serial) {
        case .next(let next):
            position = next
            return true
        case .known, nil: return false
        case .hole(let missing):
            subscribeAgain(channel, missing: missing)
            return false
        }
    }

    /// Handles the number of a message that the broker does not send to this client.
    mutating func receivePosition(_ serial: UInt64?, on channel: String, at now: Duration) {
        guard let serial, subscriptions[channel] == .subscribed else { return }
        var position: ChannelPosition?
        guard advance(channel, to: serial, &position) else { return }
        if let position { pass(position, on: channel) }
        finishReplay(of: channel, at: now)
    }

    /// Records a position without a message for the app; not while earlier messages wait for a key.
    mutating func pass(_ position: ChannelPosition, on channel: String) {
        guard subscriptions[of: channel]?.decryption.held.isEmpty != false else { return }
        effects.append(.pass(channel: channel, position))
    }

    /// Reports that all missed events have been delivered, and sends the client events that waited for that.
    mutating func finishReplay(of channel: String, at now: Duration) {
        guard let end = subscriptions[of: channel]?.tracking.takeReplayEnd() else { return }
        if let count = end.recovered {
            effects.append(.recovered(channel: channel, count: count))
            if channel == signIn.channel {
                effects.append(.recovered(channel: Topic.user, count: count))
            }
        }
        sendClientEvents(at: now)
    }

    /// Subscribes again from the position, because messages before the received one are missing.
    private mutating func subscribeAgain(_ channel: String, missing: UInt64) {
        let fault = "\(missing) events of \(channel) did not arrive; the client requests them again"
        effects.append(.send(.unsubscribe(channel: channel)))
        cancelTickets(of: channel)
        subscriptions[of: channel]?.decryption.ticket = nil
        subscriptions[of: channel]?.tracking.subscriptionEnded()
        // Once only: if the next subscription has the same hole, repeating it might never end.
        guard subscriptions[of: channel]?.tracking.holesInRow == 1 else {
            return postpone(channel, .protocolViolation(fault))
        }
        effects.append(.report(.protocolViolation(fault)))
        subscriptions[channel] = .wanted
        requestSubscription(to: channel)
    }

    /// Ends a subscription that the app has cancelled, and begins the one that it has requested since.
    mutating func beginAgain(_ channel: String) {
        effects.append(.send(.unsubscribe(channel: channel)))
        subscribeFromNext(channel)
    }

    /// Begins the subscription that the app has requested since it cancelled the last one.
    mutating func subscribeFromNext(_ channel: String) {
        let next = subscriptions[of: channel]?.nextTracking.take()
        subscriptions[of: channel]?.tracking = next ?? ChannelTracking()
        subscriptions[channel] = .wanted
        requestSubscription(to: channel)
    }

    // MARK: Stored positions

    /// Returns the state for the app's position or the stored one; `nil` for the present without a rewind.
    func start(of channel: String, from origin: ChannelTracking?) -> ChannelTracking? {
        if let origin, origin.position != nil { return origin }
        return storedTracking(of: channel) ?? origin
    }

    /// Returns the state for the stored position; `nil` if there is none.
    func storedTracking(of channel: String) -> ChannelTracking? {
        storedPositions[channel].map { ChannelTracking(from: $0) }
    }

    /// Begins the subscriptions that waited for the stored positions.
    mutating func restore(_ positions: [String: ChannelPosition]) -> [SessionEffect] {
        guard awaitsPositions else { return [] }
        awaitsPositions = false
        storedPositions = positions
        for channel in subscriptions.channels
        where subscriptions[of: channel]?.tracking.position == nil {
            guard let stored = storedTracking(of: channel) else { continue }
            subscriptions[of: channel]?.tracking = stored
        }
        if case .connected = phase { requestSubscriptions() }
        return takeEffects()
    }

    /// Begins all subscriptions that have not begun on this connection.
    mutating func requestSubscriptions() {
        for channel in subscriptions.channels where subscriptions[channel] == .wanted {
            requestSubscription(to: channel)
        }
    }
}
