import Synchronization

/// A clock that stands still until a test moves it.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Sleeper] = []
    }

    private let state = Mutex(State())
    private let requests = AsyncStream.makeStream(of: Duration.self)

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                state.withLock { state in
                    guard !Task.isCancelled else {
                        return continuation.resume(throwing: CancellationError())
                    }
                    let sleeper = Sleeper(id: id, deadline: deadline, continuation: continuation)
                    state.sleepers.append(sleeper)
                    requests.continuation.yield(state.now.duration(to: deadline))
                }
            }
        } onCancel: {
            state.withLock { state in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return }
                state.sleepers.remove(at: index).continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// Waits until somebody sleeps for `duration`, which takes note of all earlier requests.
    func waitForSleep(of duration: Duration) async {
        for await request in requests.stream where request == duration { return }
    }

    /// Waits until somebody sleeps, and says for how long.
    func waitForSleep() async -> Duration? {
        for await request in requests.stream { return request }
        return nil
    }

    func advance(by duration: Duration) {
        state.withLock { state in
            state.now = state.now.advanced(by: duration)
            for sleeper in state.sleepers where sleeper.deadline <= state.now {
                sleeper.continuation.resume()
            }
            state.sleepers.removeAll { $0.deadline <= state.now }
        }
    }
}
