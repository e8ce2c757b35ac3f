@_exported public import FanfareOutbox
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Triggers events in order, however long the broker is unreachable.
///
/// The outbox stores an event, sends it with the same key until the broker answers, then removes it. The event is
/// published at least once, and exactly once if the answer arrives within the broker's `idempotency_age`.
///
/// ```swift
/// let outbox = BrokerOutbox(api, store: try SQLiteOutbox(path: "outbox.sqlite"))
/// try await outbox.trigger("addUser", on: "userslist", data: user)
/// ```
///
/// If the broker refuses the event itself (status 400, 413 or 422), the outbox removes and reports it, and continues
/// with the next. After any other failure it tries again, after a delay that grows to 30 seconds.
///
/// Releasing the outbox ends its work; unsent events stay in the store.
public final class BrokerOutbox: Sendable {
    /// A problem with an outbox's events, for a log.
    public enum Report: Sendable {
        /// The broker refused the event, which the outbox has removed.
        case refused(OutboxEvent, FanfareAPIError)
        /// The event was not sent for this reason; the outbox sends it again after the delay.
        case delayed(OutboxEvent, FanfareAPIError, delay: Duration)
        /// The store cannot be read or written; the outbox tries again after the delay.
        case storeFailed(any Error, delay: Duration)
    }

    private let store: any OutboxStore
    private let prepare: @Sendable (String, String) throws(FanfareAPIError) -> String
    private let pending: PendingTriggers
    private let wakeUp: AsyncStream<Void>.Continuation
    private let sending: Task<Void, Never>

    /// Creates an outbox, which starts to send the events of its store.
    ///
    /// - Parameters:
    ///   - api: The broker's API.
    ///   - store: The store of the events; by default in memory.
    ///   - report: Called for each refused or delayed event and for each failure of the store.
    public convenience init(
        _ api: BrokerAPI,
        store: any OutboxStore = MemoryOutbox(),
        report: @escaping @Sendable (Report) -> Void = { _ in }
    ) {
        self.init(
            store: store,
            prepare: { text, channel throws(FanfareAPIError) in
                try api.outgoing(text, on: channel)
            },
            send: { event throws(FanfareAPIError) in try await api.send(event) },
            report: report
        )
    }

    package init(
        store: any OutboxStore,
        prepare: @escaping @Sendable (String, String) throws(FanfareAPIError) -> String = {
            text,
            _ in text
        },
        send: @escaping @Sendable (OutboxEvent) async throws(FanfareAPIError) -> Void,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        },
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.store = store
        self.prepare = prepare
        let (wakes, wakeUp) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let pending = PendingTriggers()
        let sender = OutboxSender(
            store: store,
            send: send,
            sleep: sleep,
            report: report,
            pending: pending
        )
        self.pending = pending
        self.wakeUp = wakeUp
        sending = Task {
            for await _ in wakes {
                guard await sender.sendAll() else { return }
            }
        }
        store.onAppend { wakeUp.yield() }
        wakeUp.yield()
    }

    deinit { sending.cancel() }

    /// Stores an event, to be sent after all earlier ones.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    /// - Returns: The stored event; ``PendingTrigger/delivery()`` waits until the broker has accepted it.
    /// - Throws: A ``FanfareAPIError``, or the store's error; the event is then not stored.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable
    ) async throws -> PendingTrigger {
        try await add(self.event(event, on: channel, text: try APIEvent.json(data)))
    }

    /// Stores an event with text as its data, to be sent after all earlier ones.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it; encrypted for an encrypted channel.
    /// - Returns: The stored event; ``PendingTrigger/delivery()`` waits until the broker has accepted it.
    /// - Throws: A ``FanfareAPIError``, or the store's error; the event is then not stored.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        text: String
    ) async throws -> PendingTrigger {
        try await add(self.event(event, on: channel, text: text))
    }

    /// Returns an event with a new key, for the app to append to the store in its own transaction.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it; encrypted here for an encrypted channel.
    /// - Returns: The event.
    /// - Throws: A ``FanfareAPIError`` for an encrypted channel without a key.
    public func event(
        _ event: String,
        on channel: String,
        text: String
    ) throws(FanfareAPIError) -> OutboxEvent {
        OutboxEvent(
            key: UUID().uuidString.lowercased(),
            name: event,
            channel: channel,
            // Encrypted once: a new nonce would make it another event with the same key.
            data: try prepare(text, channel)
        )
    }

    private func add(_ event: OutboxEvent) async throws -> PendingTrigger {
        let trigger = pending.add(event.key)
        do {
            try await store.append(event)
        } catch {
            pending.remove(event.key)
            throw error
        }
        wakeUp.yield()
        return trigger
    }

    /// Sends the stored events, then ends; events that remain stay in the store.
    ///
    /// - Parameter limit: The time limit.
    public func close(within limit: Duration = .seconds(5)) async {
        wakeUp.finish()
        let deadline = Task {
            try await Task.sleep(for: limit)
            sending.cancel()
        }
        await sending.value
        deadline.cancel()
    }
}
