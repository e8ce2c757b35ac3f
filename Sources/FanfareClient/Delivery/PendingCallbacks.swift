import Primitives

/// The callback calls of a client that are scheduled and have not returned; tests wait for them.
package final class PendingCallbacks: Sendable {
    private let calls = Lock(0)
    private let observers = Lock<[@Sendable () -> Void]>([])

    init() {}

    /// The number of calls.
    ///
    /// A call that schedules others counts until they are scheduled.
    package var count: Int { calls.load() }

    /// Calls `body` whenever all calls have returned.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        observers.withLock { $0.append(body) }
    }

    func add(_ count: Int) { calls.withLock { $0 += count } }

    func remove(_ count: Int) {
        let rest = calls.withLock { calls in
            calls -= count
            return calls
        }
        guard rest == 0 else { return }
        for observer in observers.withLock({ $0 }) { observer() }
    }
}

/// The receiver of a client's connection, as a test's transport uses it.
package protocol PendingCallbacksReporting {
    /// The calls of the client.
    var pendingCallbacks: PendingCallbacks { get }
}
