import Dispatch
import Glibc
import Synchronization

/// The signals by which an operator tells a broker what to do: SIGTERM, SIGINT and SIGUSR1 to stop, SIGHUP to read its
/// configuration again.
///
/// SIGUSR1 is for ``Drain``, which must not end a broker that is stopping already: it may come any number of times.
/// SIGTERM or SIGINT a second time ends the program at once. One of each does not: a terminal's Ctrl-C reaches the
/// program beside the SIGTERM of a script that hears it too.
enum Signals {
    /// Takes the signals over, once a process.
    ///
    /// - Returns: The numbers of those that come, in order.
    static func install() -> AsyncStream<Int32> {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe: \(String(cString: strerror(errno)))")
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        seen.store(0, ordering: .sequentiallyConsistent)
        for number in [SIGTERM, SIGINT, SIGUSR1, SIGHUP] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                // Only what signal-safety(7) allows: atomics, write and _exit.
                let bit: Int32 = 1 << number
                if number == SIGTERM || number == SIGINT,
                    seen.bitwiseOr(bit, ordering: .relaxed).oldValue & bit != 0
                {
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
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let readEnd = ends[0]
        // It waits for all of the program's life.
        DispatchQueue(label: "fanfare.signals").async {
            var byte: UInt8 = 0
            while case let count = read(readEnd, &byte, 1), count > 0 || errno == EINTR {
                if count > 0 { continuation.yield(Int32(byte)) }
            }
        }
        return signals
    }

    /// The name of a signal that ``install()`` takes over.
    static func name(_ number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGHUP: "SIGHUP"
        case SIGUSR1: "SIGUSR1"
        default: "SIGTERM"
        }
    }
}

/// Where the signals' handler writes; a handler has no context of its own.
private let writeEnd = Atomic<Int32>(-1)
/// The signals that have come, a bit for each.
private let seen = Atomic<Int32>(0)
