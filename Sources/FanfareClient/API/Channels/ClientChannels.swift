import Primitives

extension Fanfare {
    /// Returns a channel, subscribed or not; has no side effect.
    public func channel(_ name: String) -> Channel { Channel(name: name, client: self) }

    /// Subscribes to a channel now or when the client connects, and again on each later connection.
    ///
    /// Events may arrive at once. To receive the first one, bind to ``channel(_:)`` before this call.
    @discardableResult
    public func subscribe(_ name: String) -> Channel { channel(name).subscribe() }

    func subscribe(
        to channel: String,
        with token: ChannelAuthorization?,
        from origin: ChannelTracking? = nil,
        fresh: Bool = false
    ) {
        let now = options.clock.now()
        act(if: { $0.leases.beginOwn(channel, at: origin?.position) }) {
            $0.subscribe(to: channel, with: token, from: origin, fresh: fresh, at: now)
        }
    }

    func unsubscribe(from channel: String) {
        let now = options.clock.now()
        act(if: { $0.leases.endOwn(channel) }) { $0.unsubscribe(from: channel, at: now) }
    }

    /// Begins a lease, and returns its number.
    func lease(_ channel: String, from origin: ChannelTracking?, fresh: Bool) -> Int {
        let now = options.clock.now()
        var lease = LeaseStart.own
        act(
            if: {
                lease = $0.leases.begin(channel)
                return true
            },
            { $0.subscribe(to: channel, for: lease, from: origin, fresh: fresh, at: now) }
        )
        return lease
    }

    func endLease(_ channel: String) {
        let now = options.clock.now()
        act(if: { $0.leases.end(channel) }) { $0.unsubscribe(from: channel, at: now) }
    }

    func isSubscribed(to channel: String) -> Bool {
        state.withLock { $0.session.subscription(to: channel) == .subscribed }
    }

    func subscriptionCount(of channel: String) -> Int? {
        state.withLock { $0.session.subscriptions[of: channel]?.count }
    }

    func waitUntilSubscribed(to channel: String) async throws {
        let buffer = EventBuffer<Void>(policy: .keepsNewest(limit: 1))
        try state.withLock { state in
            switch state.session.subscription(to: channel) {
            case .subscribed: buffer.send(())
            case nil, .leaving: throw FanfareError.unsubscribed(channel: channel)
            case .refused:
                throw state.session.subscriptions[of: channel]?.refusal
                    ?? FanfareError.unsubscribed(channel: channel)
            case .wanted, .authorizing, .awaitingUser, .pending, .postponed:
                if case .failed(let error) = state.session.status { throw error }
                state.waiters[channel, default: EventBuffers()].add(buffer)
            }
        }
        guard try await buffer.next() != nil else { throw CancellationError() }
    }

    /// Whether a task waits for a subscription.
    func hasWaiters(for channel: String) -> Bool {
        state.withLock { $0.waiters[channel] != nil }
    }
}
