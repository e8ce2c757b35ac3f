#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// What is known of a client event that the client has sent.
public enum ClientEventDelivery: Sendable, Hashable {
    /// The broker has confirmed that the event has its place in the channel's order.
    case accepted
    /// The event was written to the connection; the broker sends no receipts, so a cut may have lost it.
    case sent
}

/// A client event that was sent or waits to be sent.
public final class PendingEvent: Sendable {
    /// The key under which the event may be sent again without being published twice.
    public let key: String
    /// The event's name.
    public let name: String
    /// The channel's name.
    public let channel: String

    private struct State {
        var outcome: Result<ClientEventDelivery, FanfareError>?
        var waiting = EventBuffers<ClientEventDelivery>()
        var stored: Result<Void, FanfareError>?
        var waitingForStore = EventBuffers<Void>()
    }

    private let state = Mutex(State())

    init(key: String = UUID().uuidString.lowercased(), name: String, channel: String) {
        self.key = key
        self.name = name
        self.channel = channel
    }

    /// Waits for the outcome.
    ///
    /// - Returns: ``ClientEventDelivery/accepted`` once the broker has confirmed the event, also behind reconnections;
    ///   ``ClientEventDelivery/sent`` once it is written to a broker that sends no receipts.
    /// - Throws: The ``FanfareError`` for which the event was dropped; `CancellationError` when the task is cancelled, and
    ///   the event stays.
    @discardableResult
    public func delivery() async throws -> ClientEventDelivery {
        let buffer = EventBuffer<ClientEventDelivery>(policy: .keepsNewest(limit: 1))
        let outcome = state.withLock { state in
            if state.outcome == nil { state.waiting.add(buffer) }
            return state.outcome
        }
        if let outcome { return try outcome.get() }
        guard let delivery = try await buffer.next() else { throw CancellationError() }
        return delivery
    }

    /// Waits until ``ClientOptions/outbox`` has stored the event, so that it outlives the process.
    ///
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/outboxFailed`` when there is no outbox, or it cannot store the
    ///   event, which is sent nevertheless; `CancellationError` when the task is cancelled.
    public func waitUntilStored() async throws {
        let buffer = EventBuffer<Void>(policy: .keepsNewest(limit: 1))
        let stored = state.withLock { state in
            if state.stored == nil { state.waitingForStore.add(buffer) }
            return state.stored
        }
        if let stored { return try stored.get() }
        guard try await buffer.next() != nil else { throw CancellationError() }
    }

    /// Records that the event is stored, or why it is not; called once.
    func settleStored(_ stored: Result<Void, FanfareError>) {
        state.withLock { state in
            state.stored = stored
            switch stored {
            case .success: state.waitingForStore.send(())
            case .failure(let error): state.waitingForStore.finish(throwing: error)
            }
        }
    }

    /// Records the outcome, which is called once.
    func settle(_ outcome: Result<ClientEventDelivery, FanfareError>) {
        state.withLock { state in
            state.outcome = outcome
            switch outcome {
            case .success(let delivery): state.waiting.send(delivery)
            case .failure(let error): state.waiting.finish(throwing: error)
            }
        }
    }
}
