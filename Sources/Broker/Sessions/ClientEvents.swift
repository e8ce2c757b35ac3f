import PusherProtocol

/// Client events (Pusher documentation, "Triggering client events").
extension Session {
    /// Validates a client event: forwards it to the channel's home, or answers with an error.
    mutating func receive(_ event: ClientEvent, now: Int64) -> Effects {
        guard app.features.clientEvents else {
            return refuse(
                "To send client events, you must enable this feature in the Settings page of your "
                    + "dashboard. On this broker that is features.client_events of the app",
                now: now
            )
        }
        guard let channel = try? ChannelName(event.channel, limits: app.limits.texts) else {
            return refuseUnsubscribed(event, now: now)
        }
        guard channel.kind.allowsClientEvents else {
            return refuse(
                "Client event rejected - only supported on private and presence channels",
                now: now
            )
        }
        guard isActive(on: channel) else { return refuseUnsubscribed(event, now: now) }
        let rate = app.limits.clientEventRate
        guard extras.clientEventBucket.take(at: now, rate) else {
            // Does not count as a faulty message: a client slightly over the rate loses an event, not the connection.
            let code = PusherCode.clientEventRejected
            let limit = "a connection may send \(rate.perSecond) a second"
            return [
                .limitMet(.clientEventRate),
                .send(.error(code: code, message: "\(code.message): \(limit)")),
            ]
        }
        return Effects(.publish(event, on: channel))
    }

    private mutating func refuseUnsubscribed(_ event: ClientEvent, now: Int64) -> Effects {
        refuse(
            "Cannot broadcast client event (connection not subscribed to channel \(event.channel))",
            now: now
        )
    }
}
