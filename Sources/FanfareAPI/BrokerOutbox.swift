@_exported public import FanfareOutbox
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Triggers events in order, however long the broker cannot be reached.
///
/// An event is stored, then sent under its key until the broker has answered, then removed: it is published at least once,
/// and exactly once if the answer comes within the broker's `idempotency_age`.
///
/// ```swift
/// let outbox = BrokerOutbox(api, store: try SQLiteOutbox(path: "outbox.sqlite"))
/// try await outbox.trigger("addUser", on: "userslist", data: user)
/// ```
///
/// An event that the broker refuses for what it is (status 400, 413 or 422) is removed and reported, and those behind it
/// go on. After any other failure the outbox waits and tries again, with a delay that grows to 30 seconds.
///
/// Releasing the outbox ends its work; the events stay in the store.
public final class BrokerOutbox: Sendable {
    /// What happened to the events of an outbox, for a log.
    public enum Report: Sendable {
        /// The broker refuses the event, which was removed.
        case refused(OutboxEvent, FanfareAPIError)
        /// The event was not sent for this reason; it is sent again after the delay.
        case delayed(OutboxEvent, FanfareAPIError, delay: Duration)
        /// The store cannot be read or written; it is tried again after the delay.
        case storeFailed(any Error, delay: Duration)
    }

    private let store: any OutboxStore
    private let prepare: @Sendable (String, String) throws(FanfareAPIError) -> String
    private let pending: PendingTriggers
    private let wakeUp: AsyncStream<Void>.Continuation
    private let sending: Task<Void, Never>

    /// Creates an outbox, which sends the events of its store at once.
    ///
    /// - Parameters:
    ///   - api: The broker's API.
    ///   - store: The store of the events; by default in memory.
    ///   - report: Called for each event that was refused or delayed.
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

    /// Stores an event, to be sent behind all earlier ones.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    /// - Returns: The event, which is stored; ``PendingTrigger/delivery()`` waits until the broker has accepted it.
    /// - Throws: A ``FanfareAPIError``, or the store's error. The event is not stored then.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable
    ) async throws -> PendingTrigger {
        try await add(self.event(event, on: channel, text: try APIEvent.json(data)))
    }

    /// Stores an event with text as its data, to be sent behind all earlier ones.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it; encrypted for an encrypted channel.
    /// - Returns: The event, which is stored; ``PendingTrigger/delivery()`` waits until the broker has accepted it.
    /// - Throws: A ``FanfareAPIError``, or the store's error. The event is not stored then.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        text: String
    ) async throws -> PendingTrigger {
        try await add(self.event(event, on: channel, text: text))
    }

    /// Returns an event under a new key, to be appended to the store in a transaction of the app.
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
            // Encrypted once: with another nonce it would be another event under the same key.
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

    /// Sends the stored events, then ends; events that are left stay in the store.
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
