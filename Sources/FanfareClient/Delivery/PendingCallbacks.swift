import Synchronization

/// The callback calls of a client that are scheduled and have not returned; tests wait for them.
package final class PendingCallbacks: Sendable {
    private let calls = Atomic(0)
    private let observers = Mutex<[@Sendable () -> Void]>([])

    init() {}

    /// The number of calls.
    ///
    /// A call that schedules others counts until they are scheduled.
    package var count: Int { calls.load(ordering: .acquiring) }

    /// Calls `body` whenever all calls have returned.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        observers.withLock { $0.append(body) }
    }

    func add(_ count: Int) { calls.add(count, ordering: .acquiringAndReleasing) }

    func remove(_ count: Int) {
        guard calls.subtract(count, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        for observer in observers.withLock({ $0 }) { observer() }
    }
}

/// The receiver of a client's connection, as a test's transport uses it.
package protocol PendingCallbacksReporting {
    /// The calls of the client.
    var pendingCallbacks: PendingCallbacks { get }
}
