package import Net
import Synchronization

/// Lets at most ten lines a second of one kind into the log, and counts the others.
///
/// After a restart thousands of clients may be told of a gap at once, and a wrong secret refuses every request of a backend.
package final class LogPace: Sendable {
    private struct State {
        var second: Int64 = -1
        var lineCount = 0
        var omittedCount = 0
    }

    private static let linesPerSecondMax = 10

    private let state = Mutex(State())

    package init() {}

    /// Returns how many lines were left out since the last one; `nil` if this one is left out, too.
    package func takeLine(at now: MonotonicTime = .current) -> Int? {
        let second = now.nanoseconds / 1_000_000_000
        return state.withLock { state in
            if state.second != second { (state.second, state.lineCount) = (second, 0) }
            guard state.lineCount < Self.linesPerSecondMax else {
                state.omittedCount += 1
                return nil
            }
            state.lineCount += 1
            return exchange(&state.omittedCount, with: 0)
        }
    }
}
