import FanfareClient
import Primitives

/// Follows a channel for a list: its events, and the state of its subscription.
final class ChannelFollower<Row: LiveRow>: Sendable where Row.ID: Sendable {
    typealias Handler = @Sendable (SourceEvent<Row>) async -> Void

    private let channel: Channel
    private let handler: Handler
    /// Whether the channel has been subscribed since the follower began.
    private let hasBegun = Lock(false)
    /// Whether the list has been notified of an outage that has not ended.
    private let isAway = Lock(false)

    /// Creates a follower that calls the handler with each event.
    init(_ channel: Channel, _ handler: @escaping Handler) {
        self.channel = channel
        self.handler = handler
    }

    /// Holds a lease of the channel, and sends its events as events of a list.
    ///
    /// - Parameter read: Converts an event; returns `nil` for an event that does not belong to the list.
    /// - Throws: The refusal of the subscription, or the failure of the client.
    func follow(_ read: (ChannelEvent) -> SourceEvent<Row>?) async throws {
        let outages = Outages(channel)
        let deliveries = channel.subscription().deliveries()
        async let _ = reportOutages(outages)
        // If the channel was subscribed before, no confirmation follows.
        if channel.isSubscribed { await begin() }
        for try await delivery in deliveries {
            switch delivery {
            case .event(let event, _):
                if event.name == "pusher:subscription_succeeded" {
                    // Later confirmations follow a gap or precede the missed events.
                    if !hasBegun.load() { await begin() }
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
        hasBegun.exchange(true)
        isAway.exchange(false)
        await handler(.subscribed)
    }

    /// Notifies the list that nothing was missed, so that it does not fetch the rows.
    private func resume() async {
        guard hasBegun.load() else { return await begin() }
        isAway.exchange(false)
        await handler(.resumed)
    }

    /// Notifies the list that there is no connection.
    ///
    /// Signals and events are two sequences, read by two tasks. The current state therefore decides, not that of the
    /// signal.
    ///
    ///     this task                       the reader of the events
    ///     isSubscribed is false
    ///                                     the connection is back: handler(.resumed) or (.subscribed)
    ///     handler(.offline)
    ///     isSubscribed is true:
    ///     handler(.resumed)
    ///
    /// Only the reader of the events decides whether something was missed.
    private func reportOutages(_ outages: Outages) async {
        for await error in outages.signals where !channel.isSubscribed {
            guard let reason = error ?? reason() else { continue }
            isAway.exchange(true)
            await handler(.offline(reason))
            if channel.isSubscribed { await resume() }
        }
    }

    /// Returns the reason for which the channel is not subscribed; `nil` if that is expected.
    private func reason() -> (any Error)? {
        switch channel.client.status {
        case .waiting(_, let error), .failed(let error): return error
        case .disconnected:
            return LiveListError.notConnected(reason: "the client is disconnected; call connect()")
        case .suspended:
            return LiveListError.notConnected(reason: "the client is suspended until connect()")
        case .connecting, .connected:
            // At the start the rows are being loaded. Later a connection was lost, and the first reason counts.
            guard hasBegun.load(), !isAway.load() else {
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
        // The state is read when a signal is read, so only the newest signal matters.
        let (signals, continuation) = AsyncStream<FanfareError?>.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        self.signals = signals
        tokens = [
            channel.client.onStatusChange { _ in continuation.yield(nil) },
            channel.client.onError { error in
                // A subscription that failed temporarily; a refused one ends the events.
                if error.channel == channel.name { continuation.yield(error) }
            },
        ]
        continuation.yield(nil)
    }

    deinit { for token in tokens { token.cancel() } }
}
