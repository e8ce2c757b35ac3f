import Simulation
import Testing

@Suite("The simulation of sessions") struct SessionSimulationTests {
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        var situations: [Situation: Int] = [:]
        for seed in UInt64(1)...100 {
            await Task.yield()
            let outcome = try SessionSimulation.play(seed: seed)
            try #require(
                outcome.violation == nil,
                "seed \(seed): \(outcome.violation.debugDescription)"
            )
            situations.merge(outcome.situations, uniquingKeysWith: +)
        }
        let expected: [Situation] = [
            .tracked, .recoveredNothing, .recovered, .event, .repeated, .confirmation, .twin,
            .overlap, .settlement, .gap("truncated"), .gap("too_much"), .gap("unknown_session"),
            .gap("shared_session"), .stop, .kill,
        ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    @Test(
        "Each injected bug is detected, by an invariant that it violates",
        arguments: SessionVariant.allCases
    )
    func isFoundOut(variant: SessionVariant) async throws {
        for seed in UInt64(1)...300 {
            await Task.yield()
            guard let violation = try SessionSimulation.play(seed: seed, variant).violation else {
                continue
            }
            #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
            return
        }
        Issue.record("no run has detected it")
    }
}
