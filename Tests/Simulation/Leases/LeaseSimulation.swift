/// Simulated runs of clients with several leases, each reproducible by its seed.
package enum LeaseSimulation {
    /// Runs one seed to its end, or to the first violation.
    ///
    /// - Parameters:
    ///   - seed: The seed.
    ///   - variant: The injected bug; `nil` for none.
    ///   - trace: The trace to write.
    /// - Returns: The result.
    /// - Throws: The system's error, mostly for lack of descriptors.
    package static func play(
        seed: UInt64,
        _ variant: LeaseVariant? = nil,
        trace: Trace = Trace()
    ) throws -> Simulation.Outcome {
        try LeaseWorld(seed: seed, variant, trace: trace).outcome()
    }
}
