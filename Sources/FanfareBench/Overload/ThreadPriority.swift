import Glibc
import Net

/// The scheduling of the calling thread.
enum ThreadPriority {
    /// Lets the thread run before those of ordinary programs (`SCHED_RR`).
    ///
    /// - Returns: Whether this process may do that: as root, or with CAP_SYS_NICE.
    static func raise() -> Bool {
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_RR)
        return sched_setscheduler(0, SCHED_RR, &parameters) == 0
    }

    /// Has the thread run when no other thread wants its core, so that a load does not take the server's.
    ///
    /// For the rest of its life: not every process may take it back. Threads that it makes from here on do the same.
    static func lower() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }

    /// Sleeps for a time too short for an event loop's timers, which count milliseconds.
    static func sleep(for time: Duration) {
        let nanoseconds = time.components.attoseconds / 1_000_000_000
        var rest = timespec(tv_sec: Int(time.components.seconds), tv_nsec: Int(nanoseconds))
        // The thread takes no signals, so nothing interrupts it.
        nanosleep(&rest, nil)
    }
}
