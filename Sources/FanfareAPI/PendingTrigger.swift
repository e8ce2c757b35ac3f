import Primitives

/// An event in the store of a ``BrokerOutbox``.
public final class PendingTrigger: Sendable {
    /// The event's key.
    public let key: String

    private struct State {
        var outcome: Result<Void, FanfareAPIError>?
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    init(key: String) { self.key = key }

    /// Waits until the broker has accepted the event.
    ///
    /// - Throws: The ``FanfareAPIError`` with which the broker refused the event; `CancellationError` when the task is
    ///   cancelled, which does not affect the event.
    public func delivery() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if let outcome = state.outcome { return outcome.mapError { $0 } }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
            continuation?.resume(throwing: CancellationError())
        }
    }

    func settle(_ outcome: Result<Void, FanfareAPIError>) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(with: outcome) }
    }
}

/// The triggers of a program's outbox, by key.
final class PendingTriggers: Sendable {
    private struct Reference {
        weak let trigger: PendingTrigger?
    }

    private let triggers = Lock<[String: Reference]>([:])

    func add(_ key: String) -> PendingTrigger {
        let trigger = PendingTrigger(key: key)
        triggers.withLock { $0[key] = Reference(trigger: trigger) }
        return trigger
    }

    func remove(_ key: String) { triggers.withLock { $0[key] = nil } }

    func settle(_ key: String, _ outcome: Result<Void, FanfareAPIError>) {
        triggers.withLock { $0.removeValue(forKey: key)?.trigger }?.settle(outcome)
    }
}
