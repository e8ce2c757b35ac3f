import Net

/// Runs of a broker, each repeated by its seed.
package enum Simulation {
    /// What became of a run.
    package struct Outcome {
        /// What did not hold first; `nil` if all did.
        package var violation: Violation?
        /// The same for the same run only, if the trace was hashed.
        package var hash: UInt64
        /// What has happened, and how often.
        package var meetings: [Meeting: Int]
    }

    /// Plays a run to its end, or to the first violation.
    ///
    /// - Parameters:
    ///   - schedule: What happens.
    ///   - variant: How the broker is broken; `nil` for one that is not.
    ///   - trace: Who is told what happens.
    /// - Returns: What did not hold.
    /// - Throws: What the system refused: descriptors, mostly.
    package static func play(
        _ schedule: Schedule,
        _ variant: Variant? = nil,
        trace: Trace = Trace()
    ) throws -> Outcome {
        let world = try World(schedule, variant, trace: trace)
        defer { world.dissolve() }
        do {
            try world.play()
            return Outcome(violation: nil, hash: world.trace.hash, meetings: world.meetings)
        } catch let violation as Violation {
            world.trace.note { "violated: \(violation)" }
            return Outcome(violation: violation, hash: world.trace.hash, meetings: world.meetings)
        }
    }

    /// Leaves out whatever a run does not need to violate the same invariant.
    ///
    /// - Parameters:
    ///   - schedule: A run that violates an invariant.
    ///   - variant: How the broker is broken.
    ///   - invariant: Which invariant it is.
    ///   - playsMax: How often a shorter run is tried.
    /// - Returns: The shortest run that was found.
    /// - Throws: What the system refused: descriptors, mostly.
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
