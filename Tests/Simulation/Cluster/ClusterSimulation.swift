/// Simulated runs of several nodes that share a Redis, each reproducible by its seed.
package enum ClusterSimulation {
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
        _ variant: ClusterVariant? = nil,
        trace: Trace = Trace()
    ) throws -> Simulation.Outcome {
        try ClusterWorld(seed: seed, variant, trace: trace).outcome()
    }
}
