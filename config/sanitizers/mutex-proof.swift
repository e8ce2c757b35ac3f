// The proof of swift-mutex.c: threads that contend for a Mutex, and, with an argument, for something beside it.

import Foundation
import Synchronization

final class Counted: Sendable {
    let guarded = Mutex([0])
    nonisolated(unsafe) var unguarded = 0
    let finished = Atomic(0)
}

/// Long enough that others have to wait.
func count(_ state: inout [Int]) {
    for _ in 0..<20 { state[0] &+= 1 }
}

let counted = Counted()
let races = CommandLine.arguments.count > 1
for number in 0..<4 {
    Thread.detachNewThread {
        for _ in 0..<20_000 {
            if number == 0 {
                _ = counted.guarded.withLockIfAvailable { count(&$0) }
            } else {
                counted.guarded.withLock { count(&$0) }
            }
            if races { counted.unguarded &+= 1 }
        }
        counted.finished.add(1, ordering: .releasing)
    }
}
while counted.finished.load(ordering: .acquiring) < 4 { usleep(1_000) }
