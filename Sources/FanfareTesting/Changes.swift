import Synchronization

/// Lets tasks wait for a condition, which is looked at again whenever something has changed.
final class Changes: Sendable {
    /// A condition may also be about an app, of which nothing is heard: so it is looked at this often.
    private static let lookInterval = Duration.milliseconds(5)

    private struct State {
        var count = 0
        var nextID = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Takes note that a condition may have become true.
    func note() {
        let waiters = state.withLock { state in
            state.count += 1
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Waits for a condition, and gives up after some real time.
    ///
    /// - Parameters:
    ///   - what: The condition in words, behind "waited for".
    ///   - patience: The real time after which it is given up.
    ///   - isolation: Where the condition is looked at.
    ///   - seen: What has happened instead, for the error.
    ///   - condition: The condition.
    /// - Throws: ``FanfareTestingError/waitedInVain(for:within:seen:)``, or `CancellationError`.
    func wait(
        for what: String,
        within patience: Duration,
        isolation: isolated (any Actor)? = #isolation,
        seen: () -> [String],
        until condition: () -> Bool
    ) async throws {
        let end = ContinuousClock.now + patience
        while true {
            let count = state.withLock { $0.count }
            if condition() { return }
            try Task.checkCancellation()
            guard ContinuousClock.now < end else {
                throw FanfareTestingError.waitedInVain(for: what, within: patience, seen: seen())
            }
            await next(after: count, notAfter: min(end, .now + Self.lookInterval))
        }
    }

    /// Suspends until there is a change after the first `count`, or the time is up.
    private func next(after count: Int, notAfter end: ContinuousClock.Instant) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let alarm = Task {
            try await Task.sleep(until: end)
            self.wake(id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    // Who wakes comes through this lock: what is true here, it has not seen yet.
                    guard state.count == count, !Task.isCancelled, ContinuousClock.now < end
                    else { return true }
                    state.waiters.append((id, continuation))
                    return false
                }
                if isLate { continuation.resume() }
            }
        } onCancel: {
            wake(id)
        }
        alarm.cancel()
    }

    private func wake(_ id: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume()
    }
}
