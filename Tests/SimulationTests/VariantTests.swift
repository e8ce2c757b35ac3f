import Simulation
import Testing

/// Tests of the test: each injected bug is detected, by an invariant that it violates.
///
/// One at a time, as each keeps a processor busy.
@Suite("Injected bugs in the simulation", .serialized) struct VariantTests {
    /// The seeds that detect the bugs that few seeds do.
    private static let seeds: [Variant: UInt64] = [.lostRestart: 116, .forgottenNumber: 198]

    @Test("Each is detected, by an invariant that it violates", arguments: Variant.allCases)
    func isFoundOut(variant: Variant) async throws {
        let found = try await firstViolation(1...400, from: Self.seeds[variant]) {
            try Simulation.play(Schedule(seed: $0), variant).violation
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }

    @Test("A failing run is shrunk to a few steps that still fail")
    func isShrunk() throws {
        for seed in UInt64(1)...400 {
            let schedule = Schedule(seed: seed)
            guard let violation = try Simulation.play(schedule, .lostDelivery).violation
            else { continue }
            let shortest = try Simulation.shrink(
                schedule,
                .lostDelivery,
                violating: violation.invariant,
                playsMax: 150
            )
            #expect(shortest.stepCount < schedule.stepCount / 2)
            let again = try Simulation.play(shortest, .lostDelivery)
            #expect(again.violation?.invariant == violation.invariant)
            return
        }
        Issue.record("no run has detected it")
    }
}
