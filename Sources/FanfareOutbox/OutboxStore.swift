import Primitives

/// Stores the events of one outbox in the order in which they were appended.
///
/// `SQLiteOutbox` of the module `FanfareStorage` stores them in a file, so that they survive a restart of the process.
/// Two outboxes must not share a store, because each would send the events of both.
public protocol OutboxStore: Sendable {
    /// Returns the oldest events, in order.
    ///
    /// - Parameter countMax: The most events to return.
    /// - Returns: The events.
    /// - Throws: The reason the store cannot be read.
    func first(_ countMax: Int) async throws -> [OutboxEvent]

    /// Adds an event after all others; the event is stored when this returns.
    ///
    /// - Parameter event: The event.
    /// - Throws: An ``OutboxFull``, or the reason the store cannot be written; the event is then not stored.
    func append(_ event: OutboxEvent) async throws

    /// Removes the event with a key; does nothing if there is none.
    ///
    /// - Parameter key: The event's key.
    /// - Throws: The reason the store cannot be written.
    func remove(_ key: String) async throws

    /// Sets the closure to call when other code than the outbox has appended events, such as a transaction of the app.
    ///
    /// - Parameter perform: Called from any thread; it returns at once.
    func onAppend(_ perform: @escaping @Sendable () -> Void)
}

extension OutboxStore {
    /// Ignores the closure, because only the outbox appends events.
    public func onAppend(_ perform: @escaping @Sendable () -> Void) {}
}

/// The error of a store that is full.
public struct OutboxFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// The most events that the store holds.
    public let countMax: Int

    /// Creates the error of a store.
    ///
    /// - Parameter countMax: The most events that the store holds.
    public init(countMax: Int) { self.countMax = countMax }

    /// The limit and what to do about it.
    public var description: String {
        "The outbox holds \(countMax) events, its limit. Is the broker reachable? Otherwise raise the limit"
    }
}

/// Stores events in memory; they are lost when the process ends.
public final class MemoryOutbox: OutboxStore {
    private let events = Lock<[OutboxEvent]>([])
    private let countMax: Int

    /// Creates an empty store.
    ///
    /// - Parameter countMax: The most events to hold.
    public init(countMax: Int = 10_000) { self.countMax = countMax }

    /// Returns the oldest events, in order.
    public func first(_ countMax: Int) -> [OutboxEvent] {
        events.withLock { Array($0.prefix(countMax)) }
    }

    /// Adds an event after all others.
    public func append(_ event: OutboxEvent) throws {
        try events.withLock { events in
            guard events.count < countMax else { throw OutboxFull(countMax: countMax) }
            events.append(event)
        }
    }

    /// Removes the event with a key; does nothing if there is none.
    public func remove(_ key: String) {
        events.withLock { events in
            guard let index = events.firstIndex(where: { $0.key == key }) else { return }
            events.remove(at: index)
        }
    }
}
