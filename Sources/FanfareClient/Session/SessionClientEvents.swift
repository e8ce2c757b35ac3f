import FanfareOutbox
import PusherProtocol

/// Sends client events.
extension ClientSession {
    /// Sends or queues an event.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel.
    ///   - json: The data as JSON text.
    ///   - key: The idempotency key, which the receipt has too; `nil` for no receipt and no retry.
    ///   - now: The time.
    /// - Returns: The effects, and whether the event was sent.
    /// - Throws: The reason it can be neither sent nor queued.
    mutating func trigger(
        _ name: String,
        on channel: String,
        json: [UInt8],
        key: IdempotencyKey? = nil,
        at now: Duration
    ) throws(FanfareError) -> (effects: [SessionEffect], wasSent: Bool) {
        if let reason = refusal(of: name, on: channel, json) {
            throw .clientEventRefused(event: name, channel: channel, reason: reason)
        }
        let event = ClientEvent(
            nameToken: JSONWriter.token(name),
            channel: channel,
            dataToken: json,
            key: key
        )
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
        return (takeEffects(), !outbox.holds(channel))
    }

    /// Queues the stored events of an earlier run of the app, and sends what may be sent.
    mutating func restore(_ events: [OutboxEvent], at now: Duration) -> [SessionEffect] {
        outbox.restore(
            events.map { event in
                ClientEvent(
                    nameToken: JSONWriter.token(event.name),
                    channel: event.channel,
                    dataToken: Array(event.data.utf8),
                    key: IdempotencyKey(event.key)
                )
            }
        )
        sendClientEvents(at: now)
        return takeEffects()
    }

    private func refusal(of name: String, on channel: String, _ json: [UInt8]) -> String? {
        let kind = ChannelKind(ofName: channel)
        // Compares bytes, as the broker does: with a combining mark, the hyphen would be part of another character.
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

    /// Sends the queued events of subscribed channels, within the rate limit.
    mutating func sendClientEvents(at now: Duration) {
        // None is sent during a replay. A replay names one connection only, so a later one could not leave out the
        // events of both this connection and the one before.
        func isOpen(_ channel: String) -> Bool {
            subscriptions[channel] == .subscribed
                && subscriptions[of: channel]?.tracking.isReplaying != true
        }
        while outbox.hasNext(where: isOpen) {
            guard outbox.takeToken(at: now) else {
                guard !outbox.isWaiting else { return }
                outbox.isWaiting = true
                return effects.append(.startAlarm(.clientEvents, outbox.pause))
            }
            guard var event = outbox.next(at: now, where: isOpen) else { return }
            if !outbox.expectsReceipts {
                if let key = event.key { effects.append(.settled(key: key.text, .success(.sent))) }
                event.key = nil
            }
            effects.append(.send(.clientEvent(event)))
        }
        awaitReceipts()
    }

    /// Handles the broker's receipt for an event.
    mutating func receiveReceipt(_ key: String, on channel: String) {
        guard outbox.confirm(key, on: channel) else { return }
        effects.append(.settled(key: key, .success(.accepted)))
    }

    /// Starts the alarm for missing receipts.
    private mutating func awaitReceipts() {
        guard outbox.awaitsReceipts, !outbox.isTimed else { return }
        outbox.isTimed = true
        effects.append(.startAlarm(.receipts, Outbox.receiptTimeout))
    }

    private mutating func retryLate(at now: Duration) {
        outbox.isTimed = false
        let reason = "the broker sent no receipt; a separate error has the reason"
        report(outbox.retryLate(at: now), because: reason)
        sendClientEvents(at: now)
        awaitReceipts()
    }

    /// Handles an alarm of `startAlarm`.
    mutating func alarmFired(_ alarm: SessionAlarm, at now: Duration) -> [SessionEffect] {
        switch alarm {
        case .clientEvents:
            outbox.isWaiting = false
            sendClientEvents(at: now)
        case .receipts: retryLate(at: now)
        case .signIn: signInTimedOut()
        case .subscription(let channel): retrySubscription(to: channel)
        }
        return takeEffects()
    }

    /// Drops the queued events of one channel or of all, and reports them.
    mutating func dropClientEvents(of channel: String? = nil, because error: FanfareError) {
        report(outbox.removeAll(of: channel), because: error.description)
    }

    /// Drops the queued events of one channel without a report.
    mutating func discardClientEvents(of channel: String) -> [SessionEffect] {
        outbox.removeAll(of: channel).compactMap(\.key).map {
            .settled(key: $0.text, .failure(.unsubscribed(channel: channel)))
        }
    }

    private mutating func report(_ dropped: [Outbox.Dropped], because reason: String) {
        let byChannel = Dictionary(grouping: dropped, by: \.channel)
        for (channel, events) in byChannel.sorted(by: { $0.key < $1.key }) {
            let error = FanfareError.clientEventsDropped(
                channel: channel,
                events: events.map(\.event),
                reason: reason
            )
            effects.append(.report(error))
            for key in events.compactMap(\.key) {
                effects.append(.settled(key: key.text, .failure(error)))
            }
        }
    }
}
