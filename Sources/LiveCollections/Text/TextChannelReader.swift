import FanfareClient

/// Follows a channel and its client's connection for one reader of a text's source, until it is released.
final class TextChannelReader: Sendable {
    /// The delay before a refused subscription is tried again, and the maximum to which it doubles.
    private static let resubscriptionDelay = Duration.seconds(1)...Duration.seconds(60)

    private let buffer: TextEventBuffer
    private let tasks: [Task<Void, Never>]

    init(_ channel: Channel) {
        let buffer = TextEventBuffer()
        // Created here, not in the tasks, so that no event from now on is missed.
        let statuses = channel.client.statuses()
        let deliveries = channel.subscription().deliveries()
        self.buffer = buffer
        tasks = [
            Task { await Self.follow(statuses, of: channel, to: buffer) },
            Task { await Self.follow(channel, from: deliveries, to: buffer) },
        ]
    }

    deinit { for task in tasks { task.cancel() } }

    /// Waits for the next event; `nil` when the task is cancelled.
    func next() async -> TextSourceEvent? { await buffer.next() }

    private static func follow(
        _ statuses: Updates<ConnectionStatus, Never>,
        of channel: Channel,
        to buffer: TextEventBuffer
    ) async {
        for await status in statuses {
            switch status {
            case .waiting(_, let error), .failed(let error):
                buffer.send(.disconnected(reason: error.description))
            case .disconnected, .suspended:
                buffer.send(.disconnected(reason: "the client is disconnected"))
            case .connecting, .connected: continue
            }
            // The other task may already have reported the next connection.
            if channel.isSubscribed { buffer.send(.resumed) }
        }
    }

    private static func follow(
        _ channel: Channel,
        from first: Deliveries<ChannelEvent>,
        to buffer: TextEventBuffer
    ) async {
        var deliveries = first
        var delay = resubscriptionDelay.lowerBound
        while true {
            // If the channel was subscribed before, no confirmation follows.
            var hasBegun = channel.isSubscribed
            if hasBegun { buffer.send(.connected) }
            var reason = "the channel was unsubscribed"
            do throws(FanfareError) {
                for try await delivery in deliveries {
                    guard let event = TextSourceEvent(delivery, isFirst: !hasBegun) else {
                        continue
                    }
                    if event == .connected { hasBegun = true }
                    if event == .connected || event == .resumed {
                        delay = resubscriptionDelay.lowerBound
                    }
                    buffer.send(event)
                }
            } catch {
                reason = error.description
            }
            let clock = channel.client.options.clock
            guard !Task.isCancelled else { return }
            buffer.send(.disconnected(reason: reason))
            guard (try? await clock.sleep(clock.now() + delay)) != nil else { return }
            delay = min(delay * 2, resubscriptionDelay.upperBound)
            // A new lease subscribes again.
            deliveries = channel.subscription().deliveries()
        }
    }
}

extension TextSourceEvent {
    /// Converts an event of the channel; `nil` for an event that does not concern the text.
    ///
    /// - Parameters:
    ///   - delivery: The event.
    ///   - isFirst: Whether no confirmation of the subscription preceded it. Later confirmations follow a gap or
    ///     precede the missed events.
    fileprivate init?(_ delivery: Delivery<ChannelEvent>, isFirst: Bool) {
        switch delivery {
        case .event(let event, _) where event.name == "pusher:subscription_succeeded":
            guard isFirst else { return nil }
            self = .connected
        case .event(let event, _) where event.name == ChannelTextSource.event.text:
            // An entry that cannot be decoded is fetched like a missed one.
            self = (try? event.decode(TextEntry.self)).map { .entry($0) } ?? .gap
        case .gap: self = .connected
        case .recovered: self = .resumed
        case .event, .undecodable: return nil
        }
    }
}
