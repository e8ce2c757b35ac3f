import FanfareClient
import Synchronization

/// Follows a channel for a list: its events, and the state of its subscription.
final class ChannelFollower<Row: LiveRow>: Sendable where Row.ID: Sendable {
    typealias Handler = @Sendable (SourceEvent<Row>) async -> Void

    private let channel: Channel
    private let handler: Handler
    /// Whether the channel has been subscribed since the follower began.
    private let hasBegun = Atomic(false)
    /// Whether the list has been told of an outage that lasts.
    private let isAway = Atomic(false)

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - handler: Called with each event.
    init(_ channel: Channel, _ handler: @escaping Handler) {
        self.channel = channel
        self.handler = handler
    }

    /// Holds a lease of the channel, and sends its events as events of a list.
    ///
    /// - Parameter read: Converts an event; returns `nil` for one that is not the list's.
    /// - Throws: The refusal of the subscription, or the failure of the client.
    func follow(_ read: (ChannelEvent) -> SourceEvent<Row>?) async throws {
        let deliveries = channel.subscription().deliveries()
        var iterator = deliveries.makeAsyncIterator()
        func next() async throws -> Delivery<ChannelEvent>? { try await iterator.next() }
        // Subscribed before: then no event of the subscription follows.
        if channel.isSubscribed { await begin() }
        while let delivery = try? await next() {
            switch delivery {
            case .event(let event, _):
                if event.name == "pusher:subscription_succeeded" {
                    // Later ones follow a gap, or precede the missed events.
                    if !hasBegun.load(ordering: .relaxed) { await begin() }
                } else if let converted = read(event) {
                    await handler(converted)
                }
            case .gap: await begin()
            case .recovered: await resume()
            case .undecodable: break
            }
        }
    }

    private func begin() async {
        hasBegun.store(true, ordering: .relaxed)
        isAway.store(false, ordering: .relaxed)
        await handler(.subscribed)
    }

    /// Tells the list that nothing was missed; the rows are not fetched.
    private func resume() async {
        guard hasBegun.load(ordering: .relaxed) else { return await begin() }
        isAway.store(false, ordering: .relaxed)
        await handler(.resumed)
    }

    /// Tells the list that there is no connection.
    ///
    /// Signals and events are two sequences, read by two tasks: so the current state decides, not the one of the signal.
    ///
    ///     this task                       the reader of the events
    ///     isSubscribed is false
    ///                                     the connection is back: handler(.resumed) or (.subscribed)
    ///     handler(.offline)
    ///     isSubscribed is true:
    ///     handler(.resumed)
    ///
    /// The reader of the events alone decides whether something was missed.
    private func reportOutages(_ outages: Outages) async {
        for await error in outages.signals where !channel.isSubscribed {
            guard let reason = error ?? reason() else { continue }
            isAway.store(true, ordering: .relaxed)
            await handler(.offline(reason))
            if channel.isSubscribed { await resume() }
        }
    }

    /// Returns why the channel is not subscribed; `nil` if that is to be expected.
    private func reason() -> (any Error)? {
        switch channel.client.status {
        case .waiting(_, let error), .failed(let error): return error
        case .disconnected:
            return LiveListError.notConnected(reason: "the client is disconnected; call connect()")
        case .suspended:
            return LiveListError.notConnected(reason: "the client is suspended until connect()")
        case .connecting, .connected:
            // At the start the rows are being loaded; later a connection was lost, and the first reason counts.
            guard hasBegun.load(ordering: .relaxed), !isAway.load(ordering: .relaxed) else {
                return nil
            }
            return LiveListError.notConnected(reason: "the connection was lost and is opened again")
        }
    }
}

/// Signals that a channel's subscription may have ended.
private final class Outages: Sendable {
    /// An error of the channel; `nil` when the client's status has changed.
    let signals: AsyncStream<FanfareError?>
    private let tokens: [ListenerToken]

    init(_ channel: Channel) {
        // The state is read when a signal is: only the newest matters.
        let (signals, continuation) = AsyncStream<FanfareError?>.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        self.signals = signals
        tokens = [
            channel.client.onStatusChange { _ in continuation.yield(nil) },
            channel.client.onError { error in
                // A subscription that fails for now; a refused one ends the events.
                if error.channel == channel.name { continuation.yield(error) }
            },
        ]
        continuation.yield(nil)
    }

    deinit { for token in tokens { token.cancel() } }
}
