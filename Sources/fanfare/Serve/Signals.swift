import Dispatch
import Glibc
import Synchronization

/// The broker's signals: SIGTERM, SIGINT and SIGUSR1 stop it, SIGHUP reloads its configuration.
///
/// SIGUSR1 is sent by ``Drain``, and may be repeated. A second SIGTERM or a second SIGINT ends the program at once. One
/// of each does not: Ctrl-C in a terminal reaches the program and a script, which may send SIGTERM in turn.
enum Signals {
    /// Installs the handlers; to be called once per process.
    ///
    /// - Returns: The numbers of the signals, in order.
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

    /// The name of a handled signal.
    static func name(_ number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGHUP: "SIGHUP"
        case SIGUSR1: "SIGUSR1"
        default: "SIGTERM"
        }
    }
}

/// The pipe that the handler writes to; a signal handler has no context.
private let writeEnd = Atomic<Int32>(-1)
/// The signals received, one bit each.
private let seen = Atomic<Int32>(0)
