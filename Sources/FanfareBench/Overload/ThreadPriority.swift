import Glibc
import Net

/// The scheduling of the calling thread.
enum ThreadPriority {
    /// Gives the thread precedence over ordinary threads (`SCHED_RR`); returns whether the process is allowed to.
    static func raise() -> Bool {
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_RR)
        return sched_setscheduler(0, SCHED_RR, &parameters) == 0
    }

    /// Gives the thread the lowest priority, so that a load does not compete with the server for cores.
    ///
    /// This cannot be undone without privileges. Threads that it starts later inherit the priority.
    static func lower() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }

    /// Sleeps for less than the resolution of an event loop's timers, which is 1 ms.
    static func sleep(for time: Duration) {
        let nanoseconds = time.components.attoseconds / 1_000_000_000
        var rest = timespec(tv_sec: Int(time.components.seconds), tv_nsec: Int(nanoseconds))
        // The thread handles no signals, so nothing interrupts it.
        nanosleep(&rest, nil)
    }
}
