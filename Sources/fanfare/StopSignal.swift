import Foundation
import Glibc
import Synchronization

/// The wish of an operator that the program ends: SIGTERM or SIGINT.
///
/// The first signal is handed over by ``first()``. The same signal a second time ends the program
/// at once. One of each does not: a terminal's Ctrl-C reaches the program beside the SIGTERM of a
/// script that hears it too.
struct StopSignal: Sendable {
    private let readEnd: Int32

    /// Takes the two signals over; once a process.
    static func install() -> StopSignal {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe: \(String(cString: strerror(errno)))")
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        seen.store(0, ordering: .sequentiallyConsistent)
        for number in [SIGTERM, SIGINT] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                // Only what signal-safety(7) allows: atomics, write and _exit.
                let bit: Int32 = 1 << number
                if seen.bitwiseOr(bit, ordering: .relaxed).oldValue & bit != 0 {
                    _exit(128 + number)
                }
                var byte = UInt8(truncatingIfNeeded: number)
                let code = errno
                _ = write(writeEnd.load(ordering: .relaxed), &byte, 1)
                errno = code
            }
            action.sa_flags = SA_RESTART
            sigaction(number, &action, nil)
        }
        return StopSignal(readEnd: ends[0])
    }

    /// Waits for the first signal and returns its number.
    func first() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [readEnd] in
                var byte: UInt8 = 0
                while read(readEnd, &byte, 1) < 0 && errno == EINTR {}
                continuation.resume(returning: Int32(byte))
            }
        }
    }

    /// The name of a signal that ``first()`` returns.
    static func name(_ number: Int32) -> String { number == SIGINT ? "SIGINT" : "SIGTERM" }
}

/// Where the signals' handler writes; a handler has no context of its own.
private let writeEnd = Atomic<Int32>(-1)
/// The signals that have come, a bit for each.
private let seen = Atomic<Int32>(0)
