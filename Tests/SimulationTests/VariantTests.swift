import Simulation
import Testing

/// Tests of the test: each injected bug is detected, by an invariant that it violates.
@Suite("Injected bugs in the simulation") struct VariantTests {
    @Test("Each is detected, by an invariant that it violates", arguments: Variant.allCases)
    func isFoundOut(variant: Variant) async throws {
        for seed in UInt64(1)...400 {
            await Task.yield()
            guard let violation = try Simulation.play(Schedule(seed: seed), variant).violation
            else { continue }
            #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
            return
        }
        Issue.record("no run has detected it")
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
