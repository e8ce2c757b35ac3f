import Glibc
import Synchronization

/// Reports the seed when the broker traps: a run has no result then.
enum Crash {
    private static let seed = Atomic<UInt64>(0)

    /// Records the seed of the current run.
    static func record(seed: UInt64) {
        if self.seed.exchange(seed, ordering: .relaxed) == 0 {
            for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT] { signal(number, report) }
        }
    }

    private static let report: @convention(c) (Int32) -> Void = { number in
        // The process ends here, so allocating in a signal handler does no harm.
        print("\nThe broker trapped in seed \(seed.load(ordering: .relaxed)).")
        fflush(nil)
        signal(number, SIG_DFL)
        raise(number)
    }
}
