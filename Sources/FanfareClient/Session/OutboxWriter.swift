import FanfareOutbox
import Synchronization

/// Stores a client's events in order, one call of the store at a time; the client does not wait for the store.
final class OutboxWriter: Sendable {
    private enum Change: Sendable {
        case append(OutboxEvent, PendingEvent)
        case remove(String)
    }

    private let store: any OutboxStore
    private let changes: AsyncStream<Change>
    private let addChange: AsyncStream<Change>.Continuation
    private let writing = Mutex<Task<Void, Never>?>(nil)

    init(_ store: any OutboxStore) {
        self.store = store
        (changes, addChange) = AsyncStream.makeStream()
    }

    // Not cancelled: events triggered before are still written.
    deinit { addChange.finish() }

    func append(_ event: OutboxEvent, _ pending: PendingEvent) {
        addChange.yield(.append(event, pending))
    }

    func remove(_ key: String) { addChange.yield(.remove(key)) }

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
        writing.withLock { writing in
            guard writing == nil else { return }
            writing = Task { [store, changes] in
                do {
                    loaded(try await store.first(countMax))
                } catch {
                    failed(error)
                    loaded([])
                }
                for await change in changes {
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
        }
    }
}

/// The stored client events.
extension Fanfare {
    /// The client events without an outcome, in sending order.
    ///
    /// After ``connect()`` has read ``ClientOptions/outbox``, they include the events that it kept from an earlier run
    /// of the app.
    public var pendingEvents: [PendingEvent] {
        state.withLock { state in
            state.session.outbox.keys.compactMap { state.pendingEvents[$0] }
        }
    }

    /// Reads the stored events once, and inserts them before all others.
    func loadOutbox() {
        outboxWriter?.start(
            countMax: options.clientEventQueueCountMax,
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
