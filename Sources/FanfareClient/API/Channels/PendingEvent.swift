#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Primitives

/// The outcome of a client event that was sent.
public enum ClientEventDelivery: Sendable, Hashable {
    /// The broker has confirmed the event and its position in the channel.
    case accepted
    /// The event was written to the connection. The broker sends no receipts, so a disconnect may have lost it.
    case sent
}

/// A client event that was sent or waits to be sent.
public final class PendingEvent: Sendable {
    /// The idempotency key: if the event is sent again, the broker publishes it once.
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

    private let state = Lock(State())

    init(key: String = UUID().uuidString.lowercased(), name: String, channel: String) {
        self.key = key
        self.name = name
        self.channel = channel
    }

    /// Waits for the outcome.
    ///
    /// - Returns: ``ClientEventDelivery/accepted`` once the broker has confirmed the event, also after reconnections;
    ///   ``ClientEventDelivery/sent`` once it is written, if the broker sends no receipts.
    /// - Throws: The ``FanfareError`` because of which the event was dropped; `CancellationError` when the task is
    ///   cancelled, which does not affect the event.
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

    /// Waits until ``ClientOptions/Recovery/outbox`` has stored the event, so that it survives a restart of the app.
    ///
    /// An event that gets its outcome first need not be stored: this returns then.
    ///
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/outboxFailed`` when there is no outbox or it cannot store
    ///   the event, which is still sent; `CancellationError` when the task is cancelled.
    public func waitUntilStored() async throws {
        let buffer = EventBuffer<Void>(policy: .keepsNewest(limit: 1))
        let stored = state.withLock { state in
            if state.stored == nil { state.waitingForStore.add(buffer) }
            return state.stored
        }
        if let stored { return try stored.get() }
        guard try await buffer.next() != nil else { throw CancellationError() }
    }

    /// Records that the event is stored, or why not; called once.
    func settleStored(_ stored: Result<Void, FanfareError>) {
        state.withLock { state in
            state.stored = stored
            switch stored {
            case .success: state.waitingForStore.send(())
            case .failure(let error): state.waitingForStore.finish(throwing: error)
            }
        }
    }

    /// Records the outcome; called once.
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
