import Synchronization

/// Wakes those who read a list's updates; their sequences end with the list.
final class UpdateSignals: Sendable {
    private let continuations = Mutex<[Int: AsyncStream<Void>.Continuation]>([:])

    /// A stream of signals; two that were not taken are one.
    func add() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        let id = continuations.withLock { continuations in
            let id = (continuations.keys.max() ?? 0) + 1
            continuations[id] = continuation
            return id
        }
        continuation.onTermination = { [weak self] _ in
            self?.continuations.withLock { _ = $0.removeValue(forKey: id) }
        }
        return stream
    }

    /// Wakes all.
    func send() {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.yield() }
    }

    deinit {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.finish() }
    }
}
