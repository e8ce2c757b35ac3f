import Foundation
import Simulation
import Testing

/// One at a time, as each keeps a processor busy.
@Suite("The simulation of several nodes", .serialized) struct ClusterSimulationTests {
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        let count = ProcessInfo.processInfo.environment["SEEDS"].flatMap(UInt64.init) ?? 60
        let outcomes = try await onOwnThread {
            try (1...count).map { seed in (seed, try ClusterSimulation.play(seed: seed)) }
        }
        var situations: [Situation: Int] = [:]
        for (seed, outcome) in outcomes {
            try #require(
                outcome.violation == nil,
                "seed \(seed): \(outcome.violation.debugDescription)"
            )
            situations.merge(outcome.situations, uniquingKeysWith: +)
        }
        let faults = [
            "cut", "half-cut", "stall", "cut off", "kill", "pause", "failover", "demotion",
            "two primaries", "empty restart",
            // With Sentinels.
            "primary killed", "primary isolated", "switch", "second failover", "Sentinel behind",
            "Sentinels parted", "Sentinels away", "Sentinels away from a node", "Sentinel away",
        ]
        let expected: [Situation] =
            faults.map { .fault($0) } + [
                .grant, .event, .tracked, .recovered, .recoveredNothing, .arrival, .departure,
                .gap("unknown_stream"), .close(4200), .answer(200), .answer(503),
                .settlement, .webhook, .repeatedWebhook,
            ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    @Test(
        "Each injected bug is detected, by an invariant that it violates",
        arguments: ClusterVariant.allCases
    )
    func isFoundOut(variant: ClusterVariant) async throws {
        let found = try await firstViolation(1...300) {
            try ClusterSimulation.play(seed: $0, variant).violation
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }
}
