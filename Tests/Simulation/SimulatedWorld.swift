/// A broker or a cluster, its clients and its backends, which a seed plays to its end.
protocol SimulatedWorld: AnyObject {
    associatedtype Exchanges: Collection

    var environment: World.Environment { get }
    var trace: Trace { get set }
    /// The number of times each situation was reached.
    var situations: [Situation: Int] { get set }
    /// The requests in progress.
    var exchanges: Exchanges { get }

    /// Runs all steps, and the common end.
    func play() throws
    /// Breaks reference cycles, and ends what runs.
    func breakCycles()
    /// Advances the clock without a round.
    func wait(_ milliseconds: Int) throws
    /// Transfers everything once; returns whether there was anything.
    func runRound() throws -> Bool
}

extension SimulatedWorld {
    /// The time in milliseconds.
    var now: Int { environment.milliseconds }

    /// Counts a situation.
    func reach(_ situation: Situation) { situations[situation, default: 0] += 1 }

    /// Runs to the end, or to the first violation.
    func outcome() throws -> Simulation.Outcome {
        defer { breakCycles() }
        var violation: Violation?
        do {
            try play()
        } catch let found as Violation {
            trace.record { "violated: \(found)" }
            violation = found
        }
        return Simulation.Outcome(
            violation: violation,
            hash: trace.hash,
            situations: situations
        )
    }

    /// Lets time pass in steps that are short enough for the broker's timers.
    func advance(_ seconds: Int) throws {
        for _ in 0..<seconds * 2 {
            try wait(500)
            _ = try runRound()
        }
    }

    func runUntilIdle() throws {
        for _ in 0..<2_000 {
            // A turn may leave work for the next one, even if nothing was transferred.
            let isMoving = try runRound()
            let isStillMoving = try runRound()
            if !isMoving, !isStillMoving {
                if exchanges.isEmpty { return }
                // The broker checks a congested answer again after a millisecond.
                try wait(5)
            }
        }
        throw Violation(.answers, "the broker does not become idle")
    }
}
