public import FanfareClient

/// A source with a channel for the edits and three requests to a backend.
///
/// The app makes the requests; the closures have `Codable` parameters and results.
public struct ChannelTextSource: TextSource {
    /// The name of the event with a log entry.
    public static let event = EventName<TextEntry>("text_operations")

    private let channel: Channel
    private let loadSnapshot: @Sendable () async throws -> TextSnapshot
    private let loadRecovery: @Sendable (UInt64, UInt64) async throws -> TextRecovery
    private let sendBatch: @Sendable (TextBatch) async throws -> Void

    /// Creates a source; the app connects the channel's client.
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

    /// Returns the channel's events from now on; the channel is subscribed while they are read.
    ///
    /// After a disconnect without a gap, the event is ``TextSourceEvent/resumed``, and nothing is loaded.
    ///
    /// A reader that is more than 256 events behind receives ``TextSourceEvent/gap`` instead of them. The events
    /// continue after `disconnect()` or `suspend()` of the client. A refused subscription is tried again after a delay.
    public func news() -> AsyncStream<TextSourceEvent> {
        let reader = TextChannelReader(channel)
        return AsyncStream { await reader.next() }
    }
}
