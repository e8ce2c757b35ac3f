public import FanfareClient

/// The latest events of one name on a channel, for views.
///
/// The model holds a lease: the channel stays subscribed until the model is released.
///
/// After a disconnect the events stay and ``state`` becomes ``State/offline``. After the reconnection, ``gap`` is set
/// if events may have been missed.
@MainActor public final class ChannelModel<Payload: Decodable & Sendable>: ObservedModel {
    /// The state of the subscription.
    public enum State: Sendable, Equatable {
        /// The broker has not confirmed the subscription yet.
        case subscribing
        /// Events arrive as they are published.
        case live
        /// There is no connection; the client reconnects.
        case offline
        /// The subscription was refused or the client has failed; the model continues if it is confirmed later.
        case failed(FanfareError)
    }

    /// The latest events, the newest last; at most the limit.
    @Observed public private(set) var events: [Payload] = []
    /// The state of the subscription.
    @Observed public private(set) var state = State.subscribing
    /// The last gap for which ``acknowledgeGap()`` was not called: events may be missing before the newest ones.
    @Observed public private(set) var gap: Gap?
    /// The last event whose data could not be decoded.
    @Observed public private(set) var lastError: FanfareError?

    /// The most events to keep.
    public let limit: Int
    private let event: EventName<Payload>
    private var subscription: ChannelSubscription
    /// The position of the last event.
    private var position: ChannelPosition?
    private var reading: Task<Void, Never>?
    private var tokens: [ListenerToken] = []

    /// Subscribes to a channel.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - channel: The channel.
    ///   - limit: The most events to keep, at least 1; the oldest are dropped.
    public init(_ event: EventName<Payload>, on channel: Channel, limit: Int = 100) {
        precondition(limit > 0, "the limit must be at least 1")
        self.limit = limit
        self.event = event
        subscription = channel.subscription()
        super.init()
        read()
        if channel.isSubscribed { state = .live }
        tokens = [
            channel.client.onStatusChange { [weak self] status in
                self?.statusChanged(status)
            },
            channel.bind("pusher:subscription_succeeded") { [weak self] _ in self?.confirmed() },
        ]
    }

    deinit {
        reading?.cancel()
        for token in tokens { token.cancel() }
    }

    /// Clears the last ``gap``; call it once the app has loaded what was missed.
    public func acknowledgeGap() { gap = nil }

    private func read() {
        let deliveries = subscription.deliveries(of: event)
        reading = Task { [weak self] in
            do throws(FanfareError) {
                for try await delivery in deliveries { self?.receive(delivery) }
            } catch {
                self?.failed(error)
            }
        }
    }

    private func receive(_ delivery: Delivery<Payload>) {
        confirmed()
        switch delivery {
        case .event(let payload, let position):
            self.position = position
            events.append(payload)
            if events.count > limit { events.removeFirst(events.count - limit) }
        case .undecodable(_, let error): lastError = error
        case .gap(let gap): self.gap = gap
        case .recovered: break
        }
    }

    private func failed(_ error: FanfareError) {
        state = .failed(error)
        // The confirmation of a later subscription may have come before the end of the events was read.
        if subscription.channel.isSubscribed { confirmed() }
    }

    private func confirmed() {
        if case .failed = state {
            // The sequence has ended. A lease that begins after its last event reports what has arrived meanwhile.
            subscription = subscription.channel.subscription(from: position)
            read()
        }
        if state != .live { state = .live }
    }

    private func statusChanged(_ status: ConnectionStatus) {
        guard case .live = state, !status.isConnected else { return }
        state = .offline
    }
}
