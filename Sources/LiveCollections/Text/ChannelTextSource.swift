public import FanfareClient

/// A shared text over a channel, which tells of edits, and three requests to a backend.
///
/// How requests are made is the app's business: the closures take and return values that are `Codable`.
public struct ChannelTextSource: TextSource {
    /// The name of the event with an entry of the log.
    public static let event = EventName<TextEntry>("text_operations")

    private let channel: Channel
    private let loadSnapshot: @Sendable () async throws -> TextSnapshot
    private let loadRecovery: @Sendable (UInt64, UInt64) async throws -> TextRecovery
    private let sendBatch: @Sendable (TextBatch) async throws -> Void

    /// Puts a source together; the app subscribes to the channel and connects its client.
    ///
    /// - Parameters:
    ///   - channel: Where the backend publishes entries as ``event``.
    ///   - snapshot: Loads the text.
    ///   - recovery: Loads what followed an entry, given its serial and the epoch.
    ///   - send: Sends edits; throws a ``TextRefusal`` when the backend does not take them.
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

    /// Loads what followed an entry.
    public func recovery(after serial: UInt64, epoch: UInt64) async throws -> TextRecovery {
        try await loadRecovery(serial, epoch)
    }

    /// Sends edits.
    public func send(_ batch: TextBatch) async throws { try await sendBatch(batch) }

    /// What the channel tells from now on.
    public func news() -> AsyncStream<TextSourceEvent> {
        // Made here and not in the task: what is published from now on is in it.
        let statuses = channel.client.statuses()
        let events = channel.events()
        return AsyncStream { news in
            let reading = Task { [channel] in
                async let _ = Self.tell(statuses, to: news)
                var events = events
                while !Task.isCancelled {
                    // Subscribed before anybody listened, or behind with reading: entries may be missing.
                    if channel.isSubscribed { news.yield(.connected) }
                    do throws(FanfareError) {
                        try await Self.tell(events, to: news)
                        break
                    } catch {
                        events = channel.events()
                    }
                }
                news.finish()
            }
            news.onTermination = { _ in reading.cancel() }
        }
    }

    private static func tell(
        _ statuses: ConnectionStates,
        to news: AsyncStream<TextSourceEvent>.Continuation
    ) async {
        for await status in statuses {
            switch status {
            case .waiting(_, let error), .failed(let error):
                news.yield(.disconnected(reason: error.description))
            case .disconnected: news.yield(.disconnected(reason: "the client is disconnected"))
            case .connecting, .connected: break
            }
        }
    }

    private static func tell(
        _ events: Events,
        to news: AsyncStream<TextSourceEvent>.Continuation
    ) async throws(FanfareError) {
        for try await event in events {
            switch event.name {
            case "pusher:subscription_succeeded": news.yield(.connected)
            case Self.event.text:
                // What is no entry is nobody's: the next one shows that one is missing.
                if let entry = try? event.decode(TextEntry.self) { news.yield(.entry(entry)) }
            default: break
            }
        }
    }
}
