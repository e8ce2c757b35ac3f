import FanfareOutbox
import Primitives

/// Stores a client's events in order, one call of the store at a time; the client does not wait for the store.
///
/// While the store stalls, at most the events of the client's queue wait, and the removals of events that were in it:
/// an event that gets its outcome while it waits is not stored.
final class OutboxWriter: Sendable {
    private enum Change: Sendable {
        case append(OutboxEvent, PendingEvent)
        case remove(String)

        /// The event that is to be stored.
        func appended(_ key: String) -> PendingEvent? {
            guard case .append(let event, let pending) = self, event.key == key else { return nil }
            return pending
        }
    }

    /// The changes that the store has not received yet.
    private final class Waiting: Sendable {
        private struct State {
            var changes: [Change] = []
            /// The keys that the store has, or may have.
            var stored: Set<String> = []
        }

        private let state = Lock(State())

        func load(_ events: [OutboxEvent]) {
            state.withLock { $0.stored.formUnion(events.map(\.key)) }
        }

        func append(_ event: OutboxEvent, _ pending: PendingEvent) {
            state.withLock { $0.changes.append(.append(event, pending)) }
        }

        /// Adds the removal of a stored event, or withdraws one that waits; returns the latter.
        func remove(_ key: String) -> PendingEvent? {
            state.withLock { state in
                let index = state.changes.firstIndex { $0.appended(key) != nil }
                if let index { return state.changes.remove(at: index).appended(key) }
                // A refused event has never been added.
                if state.stored.remove(key) != nil { state.changes.append(.remove(key)) }
                return nil
            }
        }

        func next() -> Change? {
            state.withLock { state in
                guard !state.changes.isEmpty else { return nil }
                let change = state.changes.removeFirst()
                if case .append(let event, _) = change { state.stored.insert(event.key) }
                return change
            }
        }
    }

    private let store: any OutboxStore
    private let waiting = Waiting()
    private let writing = StoreWriting()

    init(_ store: any OutboxStore) { self.store = store }

    func append(_ event: OutboxEvent, _ pending: PendingEvent) {
        waiting.append(event, pending)
        writing.wake()
    }

    /// Removes an event that has its outcome; nothing of it is left to store.
    func remove(_ key: String) {
        waiting.remove(key)?.settleStored(.success(()))
        writing.wake()
    }

    /// Reads the stored events, then writes all changes; does nothing when called again.
    ///
    /// - Parameters:
    ///   - countMax: The most events to read.
    ///   - loaded: Receives the events of earlier runs, in order, before any change is written.
    ///   - failed: Receives the reason when a call of the store fails; the events stay in memory.
    func start(
        countMax: Int,
        loaded: @escaping @Sendable ([OutboxEvent]) -> Void,
        failed: @escaping @Sendable (any Error) -> Void
    ) {
        writing.start { [store, waiting] in
            do {
                let events = try await store.first(countMax)
                waiting.load(events)
                loaded(events)
            } catch {
                failed(error)
                loaded([])
            }
        } _: { [store, waiting] in
            while let change = waiting.next() { await Self.write(change, to: store, failed) }
        }
    }

    private static func write(
        _ change: Change,
        to store: any OutboxStore,
        _ failed: @Sendable (any Error) -> Void
    ) async {
        switch change {
        case .append(let event, let pending):
            do {
                try await store.append(event)
                pending.settleStored(.success(()))
            } catch {
                pending.settleStored(.failure(.outboxFailed(reason: "\(error)")))
                failed(error)
            }
        case .remove(let key):
            do { try await store.remove(key) } catch { failed(error) }
        }
    }
}

/// The stored client events.
extension Fanfare {
    /// Reads the stored events once, and inserts them before all others.
    func loadOutbox() {
        outboxWriter?.start(
            countMax: options.limits.clientEventQueueCountMax,
            loaded: { [weak self] in self?.restore($0) },
            failed: { [weak self] in self?.report(.outboxFailed(reason: "\($0)")) }
        )
    }

    private func restore(_ events: [OutboxEvent]) {
        act(if: { state in
            for event in events {
                let pending = PendingEvent(
                    key: event.key,
                    name: event.name,
                    channel: event.channel
                )
                pending.settleStored(.success(()))
                state.pendingEvents[event.key] = pending
            }
            return true
        }) { $0.restore(events, at: self.options.clock.now()) }
    }
}
