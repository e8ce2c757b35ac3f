import Simulation
import Testing

@Suite("The simulation") struct SimulationTests {
    /// The situations that the first seeds reach together.
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        let outcomes = try await onOwnThread {
            try (UInt64(1)...100).map { seed in (seed, try Simulation.play(Schedule(seed: seed))) }
        }
        var situations: [Situation: Int] = [:]
        for (seed, outcome) in outcomes {
            try #require(
                outcome.violation == nil,
                "seed \(seed): \(outcome.violation.debugDescription)"
            )
            situations.merge(outcome.situations, uniquingKeysWith: +)
        }
        let expected: [Situation] =
            [1000, 1002, 1003, 1007, 1009, 4003, 4004, 4009, 4100, 4200, 4201].map { .close($0) }
            + [200, 401, 503].map { .answer($0) }
            + ["AuthError", "LimitReached", "InvalidChannel"].map { .refusal($0) }
            + [
                .grant, .lateGrant, .signIn, .watchlist, .opening, .miss, .count, .arrival,
                .departure,
                .fullChannel, .event, .clientEvent, .tooSoon, .flood, .settlement,
                .tracked, .recoveredNothing, .recovered, .replayed, .numberAlone, .gap("truncated"),
                .gap("too_much"), .earlier, .trackedEarlier, .restart,
                .gap("unknown_stream"),
            ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    @Test("A seed makes one schedule")
    func seedsRepeatSchedules() {
        for seed in UInt64(1)...50 {
            #expect("\(Schedule(seed: seed))" == "\(Schedule(seed: seed))")
            #expect("\(Schedule(seed: seed))" != "\(Schedule(seed: seed + 1))")
        }
    }
}
