import Synchronization

/// The events that are still to be shown, if there is an end to them.
final class Countdown: Sendable {
    private let remaining: Mutex<Int?>

    /// Begins with a count; `nil` never ends.
    init(from count: Int?) { remaining = Mutex(count) }

    /// Whether there is nothing more to show.
    var isOver: Bool { remaining.withLock { $0 == 0 } }

    /// Counts one, and says whether it was the last.
    func step() -> Bool {
        remaining.withLock { remaining in
            guard let count = remaining, count > 0 else { return false }
            remaining = count - 1
            return count == 1
        }
    }
}
