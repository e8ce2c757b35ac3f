import Primitives

/// The time that a reactor's timers use: the loop's clock without its pauses.
///
/// A process does not read what its peers send while it is stopped (SIGSTOP), its virtual machine is suspended, or its
/// thread is blocked. If deadlines continued in that time, peers would miss them without a fault. Therefore:
///
/// - After a late poll, the time advances at most to when the poll was due plus a tolerance.
/// - After that, timers fire only once everything readable has been read (``mayFire``).
///
/// In a loop whose turns all take longer than the tolerance, timers still fire, but late.
struct TimerClock {
    /// How late a poll may be before it counts as a pause, in nanoseconds; nil if none ever does.
    private let tolerance: Int64?
    /// The total duration of all pauses so far, in nanoseconds.
    private(set) var pausedTime: Int64 = 0
    /// The maximum number of polls that reading the input of a pause may still take; 0 if all of it has been read.
    private var pollsLeft = 0

    /// Makes a clock without pauses so far.
    ///
    /// - Parameter tolerance: How late a poll may be before it counts as a pause; nil if none ever does.
    init(tolerance: Duration?) {
        self.tolerance = tolerance?.wholeNanoseconds
    }

    /// Whether everything has been read that was readable at the end of the last pause.
    var mayFire: Bool { pollsLeft == 0 }

    /// Records that a wait for events has ended.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the wait before this one ended, in nanoseconds.
    ///   - timeout: The timeout of this wait, in milliseconds; negative for none.
    ///   - pollCountMax: The maximum number of polls that it takes to see every stream's event.
    mutating func waitEnded(after elapsed: Int64, timeout: Int32, pollCountMax: Int) {
        guard let tolerance, timeout >= 0 else { return }
        let excess = elapsed - Int64(timeout) * 1_000_000 - tolerance
        guard excess > 0 else { return }
        pausedTime += excess
        // A loop that is late at every poll must not postpone its timers forever.
        if pollsLeft == 0 { pollsLeft = pollCountMax }
    }

    /// Records that a poll's events have been handled; `hasMore` if there may be events that did not fit into its
    /// array.
    mutating func eventsHandled(hasMore: Bool) {
        guard pollsLeft > 0 else { return }
        pollsLeft = hasMore ? pollsLeft - 1 : 0
    }
}
