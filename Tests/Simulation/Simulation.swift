/// Simulated runs of a broker, each reproducible by its seed.
package enum Simulation {
    /// The result of a run.
    package struct Outcome: Sendable {
        /// The first violation; `nil` if there was none.
        package var violation: Violation?
        /// The hash of the trace, if it was hashed.
        package var hash: UInt64
        /// The number of times each situation was reached.
        package var situations: [Situation: Int]
    }

    /// Runs a schedule to its end, or to the first violation.
    ///
    /// - Parameters:
    ///   - schedule: The schedule.
    ///   - variant: The injected bug; `nil` for none.
    ///   - trace: The trace to write.
    /// - Returns: The result.
    /// - Throws: The system's error, mostly for lack of descriptors.
    package static func play(
        _ schedule: Schedule,
        _ variant: Variant? = nil,
        trace: Trace = Trace()
    ) throws -> Outcome {
        try World(schedule, variant, trace: trace).outcome()
    }

    /// Removes steps that are not needed to violate the same invariant.
    ///
    /// - Parameters:
    ///   - schedule: A schedule that violates an invariant.
    ///   - variant: The injected bug.
    ///   - invariant: The violated invariant.
    ///   - playsMax: The maximum number of attempts.
    /// - Returns: The shortest schedule found.
    /// - Throws: The system's error, mostly for lack of descriptors.
    package static func shrink(
        _ schedule: Schedule,
        _ variant: Variant?,
        violating invariant: Invariant,
        playsMax: Int = 3_000
    ) throws -> Schedule {
        var shortest = schedule
        var plays = 0
        var length = max(1, schedule.steps.count / 2)
        while plays < playsMax {
            var start = 0
            var hasShrunk = false
            while start < shortest.steps.count, plays < playsMax {
                var shorter = shortest
                shorter.steps.removeSubrange(start..<min(start + length, shortest.steps.count))
                plays += 1
                if try play(shorter, variant).violation?.invariant == invariant {
                    shortest = shorter
                    hasShrunk = true
                } else {
                    start += length
                }
            }
            if length == 1, !hasShrunk { break }
            if !hasShrunk || length > shortest.steps.count { length = max(1, length / 2) }
        }
        return shortest
    }
}
