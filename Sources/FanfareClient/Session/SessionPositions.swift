import PusherProtocol

/// The session's positions in its channels' streams.
extension ClientSession {
    /// Handles the acknowledgement of a subscription, reports its continuity, and returns whether the broker keeps
    /// positions.
    @discardableResult
    mutating func acknowledge(_ channel: String, _ data: String, isLive: Bool = false) -> Bool {
        let start = SubscriptionStart(acknowledgement: data)
        let socketID = socketID
        let hadPosition = subscriptions[of: channel]?.tracking.position != nil
        let continuity = subscriptions[of: channel]?.tracking.acknowledged(
            start,
            on: socketID,
            isLive: isLive
        )
        guard let continuity else { return start != nil }
        let known = subscriptions[of: channel]?.tracking.position
        effects.append(.continuity(channel: channel, continuity, at: known))
        let isAgain = subscriptions[of: channel]?.wasConfirmed == true
        subscriptions[of: channel]?.wasConfirmed = true
        let leaseGaps = subscriptions[of: channel]?.takeWaitingGaps() ?? []
        if let gap = continuity.gap(isAgain: isAgain || hadPosition) {
            effects.append(.gap(channel: channel, gap))
        } else {
            let isConfirmed = !continuity.isResumed
            effects += leaseGaps.map {
                .leaseGap(channel: channel, lease: $0, $1, isConfirmed: isConfirmed, at: known)
            }
        }
        if channel == signIn.channel { effects += signIn.report(continuity) }
        return start != nil
    }

    /// Handles the number of a channel's event, `nil` for an event that is not part of a stream.
    mutating func advance(_ channel: String, to serial: UInt64?) -> ChannelTracking.Verdict {
        let verdict = subscriptions[of: channel]?.receive(serial) ?? .next(nil)
        if case .hole(let missing) = verdict { subscribeAgain(channel, missing: missing) }
        return verdict
    }

    /// Handles the number of a message that the broker does not send to this client.
    mutating func receivePosition(_ serial: UInt64?, on channel: String, at now: Duration) {
        guard let serial, subscriptions[channel] == .subscribed else { return }
        guard case .next(let position) = advance(channel, to: serial) else { return }
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

    /// Requests the messages that were held back for a slow reader.
    mutating func endHold(of channel: String) -> [SessionEffect] {
        effects.append(.stopAlarm(.slowReaders(channel)))
        if subscriptions[of: channel]?.endHold() == true {
            endSubscription(to: channel)
            subscriptions[channel] = .wanted
            requestSubscription(to: channel)
        }
        return takeEffects()
    }

    /// Ends the subscription on this connection; its position stays.
    private mutating func endSubscription(to channel: String) {
        effects.append(.send(.unsubscribe(channel: channel)))
        cancelTickets(of: channel)
        subscriptions[of: channel]?.decryption.ticket = nil
        subscriptions[of: channel]?.tracking.subscriptionEnded()
    }

    /// Forgets a position that the broker has refused: with it, no later subscription would succeed either.
    mutating func forgetPosition(of channel: String) {
        subscriptions[of: channel]?.tracking = ChannelTracking()
        storedPositions[channel] = nil
        effects.append(.forget(channel: channel))
    }

    /// Subscribes again from the position, because messages before the received one are missing.
    private mutating func subscribeAgain(_ channel: String, missing: UInt64) {
        let fault = "\(missing) events of \(channel) did not arrive; the client requests them again"
        endSubscription(to: channel)
        // Once only: if the next subscription has the same hole, repeating it might never end.
        guard subscriptions[of: channel]?.tracking.holesInRow == 1 else {
            return postpone(channel, .protocolViolation(fault))
        }
        effects.append(.report(.protocolViolation(fault)))
        subscriptions[channel] = .wanted
        requestSubscription(to: channel)
    }

    /// Begins the subscription that the app has requested since it cancelled the last one.
    mutating func subscribeFromNext(_ channel: String) {
        let next = subscriptions[of: channel]?.nextTracking.take()
        subscriptions[of: channel]?.tracking = next ?? ChannelTracking()
        subscriptions[channel] = .wanted
        requestSubscription(to: channel)
    }

    /// Removes and returns what was kept of a channel that the app has left, if a subscription continues there.
    mutating func takeLeft(
        _ channel: String,
        from origin: ChannelTracking?,
        fresh: Bool,
        at now: Duration
    ) -> Subscription? {
        guard subscriptions.hasLeft(channel) else { return nil }
        let grace = fresh ? .zero : settings.resubscribeGrace
        guard var kept = subscriptions.takeLeft(channel, at: now, for: grace) else {
            effects.append(.forget(channel: channel))
            return nil
        }
        if let origin, origin.position != nil {
            kept.tracking = origin
            // The events that wait for a key belong to the kept position.
            _ = kept.decryption.takeHeld()
        }
        return kept
    }

    // MARK: Stored positions

    /// Returns the state for the app's position or the stored one; `nil` for the present without a rewind.
    func start(of channel: String, from origin: ChannelTracking?, fresh: Bool) -> ChannelTracking? {
        if fresh || origin?.position != nil { return origin }
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
            if subscriptions[of: channel]?.isFresh == true { continue }
            guard let stored = storedTracking(of: channel) else { continue }
            subscriptions[of: channel]?.tracking = stored
        }
        if case .connected = phase { requestSubscriptions() }
        return takeEffects()
    }
}
