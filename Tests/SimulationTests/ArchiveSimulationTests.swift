import Foundation
import Simulation
import Testing

@Suite("Stored channels under kills, losses of power and failing disks", .timeLimit(.minutes(5)))
struct ArchiveSimulationTests {
    @Test("Nothing that was released or answered is lost, renumbered or repeated")
    func holds() async throws {
        let count = ProcessInfo.processInfo.environment["SEEDS"].flatMap(UInt64.init) ?? 300
        for seed in 1...count {
            await Task.yield()
            let violation = try ArchiveWorld.play(seed: seed)
            #expect(violation == nil, "seed \(seed)")
            guard violation == nil else { return }
        }
    }

    @Test("Each broken archive is detected", arguments: ArchiveVariant.allCases)
    func isFoundOut(variant: ArchiveVariant) async throws {
        for seed in UInt64(1)...400 {
            await Task.yield()
            guard let violation = try ArchiveWorld.play(seed: seed, variant) else { continue }
            #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
            return
        }
        Issue.record("no run has detected it")
    }
}
