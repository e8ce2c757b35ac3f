import Foundation
import Synchronization

/// Waits for SIGINT or SIGTERM.
struct StopSignal {
    private let readEnd: Int32

    /// Installs handlers for both signals; call it once per process.
    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe: \(String(cString: strerror(errno)))")
        readEnd = ends[0]
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        for number in [SIGINT, SIGTERM] {
            // Only async-signal-safe calls, signal-safety(7).
            signal(number) { _ in
                var byte: UInt8 = 0
                _ = write(writeEnd.load(ordering: .relaxed), &byte, 1)
            }
        }
    }

    /// Waits for the first signal, on a separate thread.
    func wait() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [readEnd] in
                var byte: UInt8 = 0
                while read(readEnd, &byte, 1) < 0 && errno == EINTR {}
                continuation.resume()
            }
        }
    }
}

/// The descriptor to which the signal handler writes; a handler has no context.
private let writeEnd = Atomic<Int32>(-1)
