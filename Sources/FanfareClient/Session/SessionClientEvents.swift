import PusherProtocol

/// Sends client events.
extension ClientSession {
    /// Sends an event, or queues it.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel.
    ///   - json: The data as JSON text.
    ///   - now: The time.
    /// - Returns: The effects, and whether the event was sent.
    /// - Throws: The reason it can be neither sent nor queued.
    mutating func trigger(
        _ name: String,
        on channel: String,
        json: [UInt8],
        at now: Duration
    ) throws(FanfareError) -> (effects: [SessionEffect], wasSent: Bool) {
        if let reason = refusal(of: name, on: channel, json) {
            throw .clientEventRefused(event: name, channel: channel, reason: reason)
        }
        let event = ClientEvent(
            nameToken: JSONWriter.token(name),
            channel: channel,
            dataToken: json
        )
        if subscriptions[channel] == .subscribed, !outbox.holds(channel),
            outbox.takeToken(at: now)
        {
            effects.append(.send(.clientEvent(event)))
            return (takeEffects(), true)
        }
        guard outbox.add(event) else {
            let limits = "\(outbox.limits.countMax) events or \(outbox.limits.bytesMax) bytes"
            throw .clientEventRefused(
                event: name,
                channel: channel,
                reason:
                    "the queue is full (\(limits)). Send less often, or raise ClientOptions.clientEventQueue…Max"
            )
        }
        sendClientEvents(at: now)
        return (takeEffects(), false)
    }

    private func refusal(of name: String, on channel: String, _ json: [UInt8]) -> String? {
        let kind = ChannelKind(ofName: channel)
        // Compares bytes, as the broker does: a combining mark would form one character with the hyphen.
        guard name.utf8.starts(with: "client-".utf8), name != "client-" else {
            return "its name must begin with client-, followed by at least one character"
        }
        let limits = ProtocolLimits()
        guard name.count <= limits.eventNameLengthMax else {
            return "its name has \(name.count) characters of \(limits.eventNameLengthMax) allowed"
        }
        guard kind.allowsClientEvents else {
            return "only private and presence channels allow client events"
        }
        guard !kind.isEncrypted else {
            return "encrypted channels do not allow client events"
        }
        guard json.count <= outbox.limits.dataLengthMax else {
            return "its data has \(json.count) bytes of \(outbox.limits.dataLengthMax) allowed"
        }
        switch subscriptions[channel] {
        case nil, .leaving: return "the channel is not subscribed. Call subscribe() first"
        case .refused:
            return "the subscription was refused"
        case .wanted, .authorizing, .awaitingUser, .pending, .postponed, .subscribed: return nil
        }
    }

    /// Sends queued events of subscribed channels, within the rate limit.
    mutating func sendClientEvents(at now: Duration) {
        func isOpen(_ channel: String) -> Bool { subscriptions[channel] == .subscribed }
        while outbox.hasNext(where: isOpen) {
            guard outbox.takeToken(at: now) else {
                guard !outbox.isWaiting else { return }
                outbox.isWaiting = true
                return effects.append(.startAlarm(.clientEvents, outbox.pause))
            }
            guard let event = outbox.next(where: isOpen) else { return }
            effects.append(.send(.clientEvent(event)))
        }
    }

    /// Handles an alarm of `startAlarm`.
    mutating func alarmFired(_ alarm: SessionAlarm, at now: Duration) -> [SessionEffect] {
        switch alarm {
        case .clientEvents:
            outbox.isWaiting = false
            sendClientEvents(at: now)
        case .signIn: signInTimedOut()
        case .subscription(let channel): retrySubscription(to: channel)
        }
        return takeEffects()
    }

    /// Drops the queued events of one channel or of all, and reports them.
    mutating func dropClientEvents(of channel: String? = nil, because error: FanfareError) {
        let dropped = outbox.removeAll(of: channel)
        guard !dropped.isEmpty else { return }
        for (channel, events) in Dictionary(grouping: dropped, by: \.channel).sorted(by: {
            $0.key < $1.key
        }) {
            effects.append(
                .report(
                    .clientEventsDropped(
                        channel: channel,
                        events: events.map(\.event),
                        reason: error.description
                    )
                )
            )
        }
    }
}
