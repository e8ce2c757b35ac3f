import PusherProtocol

/// What an app sends to the others on a channel.
extension ClientSession {
    /// Sends an event, or keeps it until it can be sent.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel.
    ///   - json: The data as JSON text.
    ///   - now: The time.
    /// - Returns: What is to be done, and whether the event has left.
    /// - Throws: Why it cannot be sent, ever or now.
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
                    "\(limits) wait already. Send less often, or raise ClientOptions.clientEventQueue…Max"
            )
        }
        sendClientEvents(at: now)
        return (takeEffects(), false)
    }

    private func refusal(of name: String, on channel: String, _ json: [UInt8]) -> String? {
        let kind = ChannelKind(ofName: channel)
        // By bytes, as the broker does: a combining mark would be one character with the hyphen.
        guard name.utf8.starts(with: "client-".utf8), name != "client-" else {
            return "its name has to begin with client-, and to go on"
        }
        let limits = ProtocolLimits()
        guard name.count <= limits.eventNameLengthMax else {
            return "its name has \(name.count) characters of \(limits.eventNameLengthMax) allowed"
        }
        guard kind.allowsClientEvents else {
            return "only private and presence channels take events from clients"
        }
        guard !kind.isEncrypted else {
            return "encrypted channels take events from backends alone"
        }
        guard json.count <= outbox.limits.dataLengthMax else {
            return "its data has \(json.count) bytes of \(outbox.limits.dataLengthMax) allowed"
        }
        switch subscriptions[channel] {
        case nil, .leaving: return "the channel is not subscribed to. Call subscribe() before"
        case .refused:
            return "the subscription was refused"
        case .wanted, .authorizing, .awaitingUser, .pending, .subscribed: return nil
        }
    }

    /// Sends what waits for no channel any more, as fast as the broker takes it.
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

    /// Takes the end of a time asked for by `startAlarm`.
    mutating func alarmRang(_ alarm: SessionAlarm, at now: Duration) -> [SessionEffect] {
        switch alarm {
        case .clientEvents:
            outbox.isWaiting = false
            sendClientEvents(at: now)
        case .signIn: signInTimedOut()
        }
        return takeEffects()
    }

    /// Gives up what waits, for one channel or for all, and says so.
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
