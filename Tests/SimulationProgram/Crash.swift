import Glibc
import Synchronization

/// Says which run it was when the broker traps: there is no outcome to be told then.
enum Crash {
    private static let seed = Atomic<UInt64>(0)

    /// Notes the run that begins.
    static func note(seed: UInt64) {
        if self.seed.exchange(seed, ordering: .relaxed) == 0 {
            for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT] { signal(number, tell) }
        }
    }

    private static let tell: @convention(c) (Int32) -> Void = { number in
        // The process ends with the next line: what allocates here harms nobody any more.
        print("\nThe broker trapped in seed \(seed.load(ordering: .relaxed)).")
        fflush(nil)
        signal(number, SIG_DFL)
        raise(number)
    }
}
