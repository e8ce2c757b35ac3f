import Net

/// How a wait continues.
enum BenchStep {
    /// Calls the next step after this time, or earlier when a connection has something to read.
    case wait(Duration)
    case done
    /// There was no progress within the stall timeout.
    case stalled

    /// The interval of progress updates, and the longest wait of a turn.
    static let tick = Duration.milliseconds(100)

    static let idle = BenchStep.wait(tick)

    static func until(_ isDone: Bool) -> BenchStep { isDone ? .done : .idle }

    /// Waits until a time; nil stands for ``idle``.
    ///
    /// The loop's timers have a resolution of 1 ms: for the rest the loop polls without sleeping.
    static func wait(from now: MonotonicTime = .current, until due: MonotonicTime?) -> BenchStep {
        guard let due else { return .idle }
        let rest = now.duration(to: due) - .milliseconds(1)
        return .wait(max(.zero, min(rest, tick)))
    }
}

/// The earlier of two times; nil where neither is known.
func earlier(_ first: MonotonicTime?, _ second: MonotonicTime?) -> MonotonicTime? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}
