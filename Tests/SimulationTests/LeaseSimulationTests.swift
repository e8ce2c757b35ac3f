import Simulation
import Testing

/// One at a time, as each keeps a processor busy.
@Suite("The simulation of clients with several leases", .serialized) struct LeaseSimulationTests {
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        let outcomes = try await onOwnThread {
            try (UInt64(1)...60).map { seed in (seed, try LeaseSimulation.play(seed: seed)) }
        }
        var situations: [Situation: Int] = [:]
        for (seed, outcome) in outcomes {
            try #require(
                outcome.violation == nil,
                "seed \(seed): \(outcome.violation.debugDescription)"
            )
            situations.merge(outcome.situations, uniquingKeysWith: +)
        }
        let expected: [Situation] = [
            .tracked, .recovered, .restart, .resubscription, .event, .state, .settlement, .stop,
            .kill, .gap("behind"), .gap("unknown_stream"), .gap("truncated"), .gap("too_much"),
            .gap("ahead"), .gap("overflow"),
        ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    @Test(
        "Each injected bug is detected, by an invariant that it violates",
        arguments: LeaseVariant.allCases
    )
    func isFoundOut(variant: LeaseVariant) async throws {
        let found = try await firstViolation(1...100) {
            try LeaseSimulation.play(seed: $0, variant).violation
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }
}
