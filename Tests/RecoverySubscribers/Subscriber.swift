import FanfareClient

/// A client that reads all of its channels' deliveries.
final class Subscriber: Sendable {
    private let client: Fanfare
    private let subscriptions: [ChannelSubscription]
    private let logs: [DeliveryLog]

    /// Creates a client and connects it.
    ///
    /// - Parameters:
    ///   - key: The app's key.
    ///   - endpoint: The broker's address.
    ///   - channels: The names of its channels, all public.
    init(key: String, endpoint: Endpoint, channels: [String]) {
        var options = ClientOptions()
        // Many cuts in little time: an app would wait longer, so that a broker's clients do not return all at once.
        options.reconnection.backoff = Backoff(
            floor: .milliseconds(50),
            window: .milliseconds(200),
            cap: .seconds(2)
        )
        client = Fanfare(key: key, endpoint: endpoint, options: options)
        let client = client
        subscriptions = channels.map { client.channel($0).subscription() }
        logs = channels.map { DeliveryLog(channel: $0) }
        for (subscription, log) in zip(subscriptions, logs) {
            let deliveries = subscription.deliveries("message")
            Task {
                for try await delivery in deliveries { log.record(delivery) }
            }
        }
        client.connect()
    }

    /// Waits until the broker has confirmed all subscriptions.
    func waitUntilSubscribed() async throws {
        for subscription in subscriptions { try await subscription.channel.waitUntilSubscribed() }
    }

    /// The last number received on each channel; 0 without one.
    var lasts: [Int] { logs.map(\.last) }

    /// A JSON object with the log of each channel.
    var report: String { "{\(logs.map(\.report).joined(separator: ","))}" }
}
