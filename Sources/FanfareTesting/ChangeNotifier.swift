import Primitives

/// Notifies tasks that wait for a condition; the condition is checked again after each change.
final class ChangeNotifier: Sendable {
    /// The interval of further checks; a condition may concern the app, whose changes are not reported.
    private static let lookInterval = Duration.milliseconds(5)

    private struct State {
        var count = 0
        var nextID = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())

    /// Reports a change.
    func notify() {
        let waiters = state.withLock { state in
            state.count += 1
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Waits for a condition, with a timeout in real time.
    ///
    /// - Parameters:
    ///   - what: A description of the condition, for the error.
    ///   - patience: The timeout, in real time.
    ///   - isolation: The actor that evaluates the condition.
    ///   - seen: The latest events, for the error.
    ///   - condition: The condition.
    /// - Throws: ``FanfareTestingError/timedOut(waitingFor:within:seen:)``, or `CancellationError`.
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
                throw FanfareTestingError.timedOut(waitingFor: what, within: patience, seen: seen())
            }
            await next(after: count, notAfter: min(end, .now + Self.lookInterval))
        }
    }

    /// Suspends until there is a change after the first `count` changes, or until the timeout.
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
                    // A change takes this lock too, so none is missed between the check and the registration.
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
