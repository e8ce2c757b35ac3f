import Foundation
import Synchronization

/// SIGINT or SIGTERM, whichever comes first.
struct StopSignal {
    private let readEnd: Int32

    /// Takes the two signals over; once a process.
    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe: \(String(cString: strerror(errno)))")
        readEnd = ends[0]
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        for number in [SIGINT, SIGTERM] {
            // Nothing but what signal-safety(7) allows.
            signal(number) { _ in
                var byte: UInt8 = 0
                _ = write(writeEnd.load(ordering: .relaxed), &byte, 1)
            }
        }
    }

    /// Waits for one of them, on a thread of its own.
    func arrives() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [readEnd] in
                var byte: UInt8 = 0
                while read(readEnd, &byte, 1) < 0 && errno == EINTR {}
                continuation.resume()
            }
        }
    }
}

/// Where the signals' handler writes, since it has no context of its own.
private let writeEnd = Atomic<Int32>(-1)
