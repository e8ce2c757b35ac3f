public import FanfareClient

/// A source with a channel for the edits and three requests to a backend.
///
/// The app makes the requests: the closures take and return `Codable` values.
public struct ChannelTextSource: TextSource {
    /// The name of the event with a log entry.
    public static let event = EventName<TextEntry>("text_operations")

    private let channel: Channel
    private let loadSnapshot: @Sendable () async throws -> TextSnapshot
    private let loadRecovery: @Sendable (UInt64, UInt64) async throws -> TextRecovery
    private let sendBatch: @Sendable (TextBatch) async throws -> Void

    /// Creates a source; the app subscribes to the channel and connects its client.
    ///
    /// - Parameters:
    ///   - channel: The channel on which the backend publishes entries as ``event``.
    ///   - snapshot: Loads the text.
    ///   - recovery: Loads the entries after a serial of an epoch.
    ///   - send: Sends edits; throws a ``TextRefusal`` when the backend refuses them.
    public init(
        channel: Channel,
        snapshot: @escaping @Sendable () async throws -> TextSnapshot,
        recovery:
            @escaping @Sendable (_ serial: UInt64, _ epoch: UInt64) async throws ->
            TextRecovery,
        send: @escaping @Sendable (TextBatch) async throws -> Void
    ) {
        self.channel = channel
        loadSnapshot = snapshot
        loadRecovery = recovery
        sendBatch = send
    }

    /// Loads the text.
    public func snapshot() async throws -> TextSnapshot { try await loadSnapshot() }

    /// Loads the entries after a serial.
    public func recovery(after serial: UInt64, epoch: UInt64) async throws -> TextRecovery {
        try await loadRecovery(serial, epoch)
    }

    /// Sends edits.
    public func send(_ batch: TextBatch) async throws { try await sendBatch(batch) }

    /// The channel's events from now on.
    public func news() -> AsyncStream<TextSourceEvent> {
        // Created here and not in the task, so that no event from now on is missed.
        let statuses = channel.client.statuses()
        let deliveries = channel.subscription().deliveries()
        return AsyncStream { continuation in
            let reading = Task { [channel] in
                async let _ = Self.forward(statuses, to: continuation)
                var deliveries = deliveries
                while !Task.isCancelled {
                    // Subscribed before: then no event of the subscription follows.
                    if channel.isSubscribed { continuation.yield(.connected) }
                    do throws(FanfareError) {
                        try await Self.forward(deliveries, to: continuation)
                        break
                    } catch {
                        continuation.yield(.disconnected(reason: error.description))
                        deliveries = channel.subscription().deliveries()
                    }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in reading.cancel() }
        }
    }

    private static func forward(
        _ statuses: ConnectionStates,
        to continuation: AsyncStream<TextSourceEvent>.Continuation
    ) async {
        for await status in statuses {
            switch status {
            case .waiting(_, let error), .failed(let error):
                continuation.yield(.disconnected(reason: error.description))
            case .disconnected, .suspended:
                continuation.yield(.disconnected(reason: "the client is disconnected"))
            case .connecting, .connected: break
            }
        }
    }

    private static func forward(
        _ deliveries: Deliveries<ChannelEvent>,
        to continuation: AsyncStream<TextSourceEvent>.Continuation
    ) async throws(FanfareError) {
        for try await delivery in deliveries {
            switch delivery {
            case .event(let event, _) where event.name == "pusher:subscription_succeeded":
                continuation.yield(.connected)
            case .event(let event, _) where event.name == Self.event.text:
                // A malformed entry is skipped: the next one reveals the gap.
                if let entry = try? event.decode(TextEntry.self) {
                    continuation.yield(.entry(entry))
                }
            case .gap: continuation.yield(.connected)
            case .event, .undecodable, .recovered: break
            }
        }
    }
}
