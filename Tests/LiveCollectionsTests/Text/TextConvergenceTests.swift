import Foundation
import TestRandom
import Testing

@testable import LiveCollections

@Suite("Shared text under random schedules")
struct TextConvergenceTests {
    /// `TEXT_SCHEDULES=100000 swift test -c release --filter TextConvergenceTests` runs them all.
    static var scheduleCount: Int {
        ProcessInfo.processInfo.environment["TEXT_SCHEDULES"].flatMap { Int($0) } ?? 400
    }

    @Test("All devices converge to one text, and no typed text is lost")
    func converge() throws {
        var mixedCount = 0
        var misreadCount = 0
        for seed in 0..<UInt64(Self.scheduleCount) {
            var world = try TextWorld(seed: seed)
            world.run(steps: 100 + Int(seed % 4) * 100)
            try #require(world.divergences == [], "seed \(seed)")
            if world.oldDevices.isEmpty {
                try #require(world.losses == [], "seed \(seed)")
            } else {
                mixedCount += 1
                if !world.losses.isEmpty { misreadCount += 1 }
            }
        }
        // A whole-text client does not send its change. It is derived, and can be wrong for concurrent edits at one
        // position.
        #expect(misreadCount <= 2 + mixedCount / 100)
        print(
            "\(Self.scheduleCount) schedules, \(mixedCount) with old clients, \(misreadCount) misread"
        )
    }

    @Test("Of refused edits all text is handed back, and no other text is lost")
    func refusals() throws {
        var refusalCount = 0
        for seed in 0..<UInt64(Self.scheduleCount) {
            var world = try TextWorld(seed: seed, refusesBatches: true)
            world.oldDevices = []
            world.run(steps: 100 + Int(seed % 4) * 100)
            try #require(world.divergences == [], "seed \(seed)")
            try #require(world.losses == [], "seed \(seed)")
            refusalCount += world.refusalCount
        }
        #expect(refusalCount > Self.scheduleCount / 2)
    }

    @Test(
        "A device that does something wrong is noticed",
        arguments: [TextWorld.Fault.neverRecovers, .ignoresGaps, .sendsTwice, .hidesRefusals]
    )
    func faultsAreNoticed(_ fault: TextWorld.Fault) throws {
        let noticed = try (0..<UInt64(40)).contains { seed in
            var world = try TextWorld(
                seed: seed,
                fault: fault,
                refusesBatches: fault == .hidesRefusals
            )
            world.run(steps: 400)
            return !world.divergences.isEmpty || !world.losses.isEmpty
        }
        #expect(noticed)
    }
}
