import Primitives

/// The time that a reactor's timers count by: the loop's clock without its pauses.
///
/// A process that is stopped (SIGSTOP), a virtual machine that is suspended or a thread that is blocked does not read
/// what its peers have sent meanwhile. Deadlines that went on in that time would punish the peers for it, so:
///
/// - A poll that comes later than it was due advances the time by no more than it was due to, and a tolerance.
/// - After that timers fire only once everything that was readable has been read (``mayFire``).
///
/// A loop whose turns all take longer than the tolerance still has its timers fire, later than they were scheduled.
struct TimerClock {
    /// How late a poll may come before it counts as a pause, in nanoseconds; nil if none ever does.
    private let tolerance: Int64?
    /// The pauses so far, in nanoseconds.
    private(set) var pausedTime: Int64 = 0
    /// Polls that are left for reading what has come during a pause; 0 if all of it has been read.
    private var pollsLeft = 0

    /// Makes a clock that has had no pause.
    ///
    /// - Parameter tolerance: How late a poll may come before it counts as a pause; nil if none ever does.
    init(tolerance: Duration?) {
        self.tolerance = tolerance?.wholeNanoseconds
    }

    /// Whether everything has been read that was readable at the end of the last pause.
    var mayFire: Bool { pollsLeft == 0 }

    /// Records that a wait for events has ended.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the wait before this one ended, in nanoseconds.
    ///   - timeout: How long this wait was to last at the longest, in milliseconds; negative without a limit.
    ///   - pollCountMax: How many polls it takes at the most until every stream's event has been seen.
    mutating func waitEnded(after elapsed: Int64, timeout: Int32, pollCountMax: Int) {
        guard let tolerance, timeout >= 0 else { return }
        let excess = elapsed - Int64(timeout) * 1_000_000 - tolerance
        guard excess > 0 else { return }
        pausedTime += excess
        // A loop that is late at each poll must not postpone its timers for ever.
        if pollsLeft == 0 { pollsLeft = pollCountMax }
    }

    /// Records that a poll's events have been handled.
    ///
    /// - Parameter hasMore: Whether there may be events that this poll had no room for.
    mutating func eventsHandled(hasMore: Bool) {
        guard pollsLeft > 0 else { return }
        pollsLeft = hasMore ? pollsLeft - 1 : 0
    }
}
