import Synchronization

@testable import Webhooks

/// A clock that a test advances.
final class ManualClock: WebhookClock {
    /// The calendar time at the start of the test.
    static let start: Int64 = 1_700_000_000_123

    private struct Sleeper {
        let id: Int
        let due: Int64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var uptime: Int64 = 0
        /// The offset of the calendar.
        var step: Int64 = 0
        var lastID = 0
        var sleepers: [Sleeper] = []
    }

    private let state = Mutex(State())

    var uptime: Int64 { state.withLock { $0.uptime } }
    var unixTime: Int64 { state.withLock { Self.start + $0.uptime + $0.step } }

    /// Sets the calendar, as an operator or NTP may; uptime does not change.
    func setCalendar(by milliseconds: Int64) { state.withLock { $0.step += milliseconds } }

    func sleep(until due: Int64) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                state.withLock { state in
                    if Task.isCancelled {
                        continuation.resume(throwing: CancellationError())
                    } else if due <= state.uptime {
                        continuation.resume()
                    } else {
                        state.sleepers.append(Sleeper(id: id, due: due, continuation: continuation))
                    }
                }
            }
        } onCancel: {
            state.withLock { state in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return }
                state.sleepers.remove(at: index).continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// Advances the clock, and resumes sleepers.
    func advance(by milliseconds: Int64) {
        state.withLock { state in
            state.uptime += milliseconds
            for sleeper in state.sleepers where sleeper.due <= state.uptime {
                sleeper.continuation.resume()
            }
            state.sleepers.removeAll { $0.due <= state.uptime }
        }
    }
}
