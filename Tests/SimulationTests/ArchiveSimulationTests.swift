import Foundation
import Simulation
import Testing

@Suite(
    "Stored channels under kills, losses of power and failing disks",
    .serialized,
    .timeLimit(.minutes(15))
)
struct ArchiveSimulationTests {
    @Test("Nothing that was released or answered is lost, renumbered or repeated")
    func holds() async throws {
        let count = ProcessInfo.processInfo.environment["SEEDS"].flatMap(UInt64.init) ?? 300
        let found = try await firstViolation(1...count) { try ArchiveWorld.play(seed: $0) }
        #expect(found == nil, "\(String(describing: found))")
    }

    @Test("Each broken archive is detected", arguments: ArchiveVariant.allCases)
    func isFoundOut(variant: ArchiveVariant) async throws {
        let found = try await firstViolation(1...400) {
            try ArchiveWorld.play(seed: $0, variant)
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }
}
