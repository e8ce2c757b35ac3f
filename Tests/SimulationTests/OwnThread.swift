import Foundation
import Simulation

/// Runs a body on a thread of its own, of low priority.
///
/// Simulations compute for seconds: on the threads of the pool, of which there are as few as processors, all other tests
/// would wait for them.
func onOwnThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
            // Of this thread alone (setpriority(2), notes).
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 15)
            continuation.resume(with: Swift.Result { try body() })
        }
        thread.stackSize = 8 << 20
        thread.start()
    }
}

/// Plays seeds until a run violates an invariant.
///
/// - Parameters:
///   - seeds: The seeds.
///   - first: The seed to begin with, if the ones before are known to violate nothing; they are played at the end.
///   - play: Plays one seed, and returns what it violates.
/// - Returns: The first violation, with its seed; `nil` if there is none.
/// - Throws: The system's error.
func firstViolation(
    _ seeds: ClosedRange<UInt64>,
    from first: UInt64? = nil,
    _ play: @escaping @Sendable (UInt64) throws -> Violation?
) async throws -> (seed: UInt64, violation: Violation)? {
    try await onOwnThread {
        let first = first ?? seeds.lowerBound
        for seed in Array(first...seeds.upperBound) + Array(seeds.lowerBound..<first) {
            if let violation = try play(seed) { return (seed, violation) }
        }
        return nil
    }
}
