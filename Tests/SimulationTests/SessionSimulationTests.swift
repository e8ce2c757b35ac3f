import Simulation
import Testing

/// One at a time, as each keeps a processor busy.
@Suite("The simulation of sessions", .serialized) struct SessionSimulationTests {
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        let outcomes = try await onOwnThread {
            try (UInt64(1)...100).map { seed in (seed, try SessionSimulation.play(seed: seed)) }
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
            .tracked, .recoveredNothing, .recovered, .event, .repeated, .confirmation, .twin,
            .overlap, .settlement, .gap("truncated"), .gap("too_much"), .gap("unknown_session"),
            .gap("shared_session"), .flood, .close(4100), .stop, .kill, .slowPage,
        ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    /// The seeds that detect the bugs that few seeds do.
    private static let seeds: [SessionVariant: UInt64] = [
        .oneSessionMore: 49, .confirmedByPongFrames: 65, .owedOpeningForgotten: 137,
        .droppedTakenForConfirmed: 195,
    ]

    @Test(
        "Each injected bug is detected, by an invariant that it violates",
        arguments: SessionVariant.allCases
    )
    func isFoundOut(variant: SessionVariant) async throws {
        let found = try await firstViolation(1...300, from: Self.seeds[variant]) {
            try SessionSimulation.play(seed: $0, variant).violation
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }
}
