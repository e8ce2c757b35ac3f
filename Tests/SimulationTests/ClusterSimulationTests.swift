import Foundation
import Testing

@testable import Simulation

/// One at a time, as each keeps a processor busy.
@Suite("The simulation of several nodes", .serialized) struct ClusterSimulationTests {
    @Test("Its runs violate no invariant, and reach all situations")
    func runsMeetEverything() async throws {
        let standardCount: UInt64 = 60
        let count =
            ProcessInfo.processInfo.environment["SEEDS"].flatMap(UInt64.init) ?? standardCount
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
        // A few seeds, as under a sanitizer, do not reach all of them.
        guard count >= standardCount else { return }
        let faults = [
            "cut", "half-cut", "stall", "cut off", "kill", "pause", "failover", "demotion",
            "two primaries", "empty restart",
            // With Sentinels.
            "primary killed", "primary isolated", "switch", "second failover", "Sentinel behind",
            "Sentinels parted", "Sentinels away", "Sentinels away from a node", "Sentinel away",
            "node parted", "failover and back",
        ]
        let expected: [Situation] =
            faults.map { .fault($0) } + [
                .grant, .event, .tracked, .recovered, .recoveredNothing, .arrival, .departure,
                .gap("unknown_stream"), .close(4200), .answer(200), .answer(503),
                .settlement, .webhook, .repeatedWebhook,
            ]
        for situation in expected { #expect(situations[situation] ?? 0 > 0, "\(situation)") }
    }

    /// What a run has made, to find out what is left of it.
    private struct Remains {
        private struct Part { weak var object: AnyObject? }
        private let parts: [(name: String, part: Part)]

        init(of world: ClusterWorld) {
            var objects: [(name: String, object: AnyObject)] = [("world", world)]
            objects.append(("Redis", world.redis))
            for process in world.redis.running + world.redis.ended {
                objects.append(("server \(process.server)", process))
            }
            for sentinel in world.sentinels?.sentinels ?? [] {
                objects.append(("Sentinel \(sentinel.number)", sentinel))
            }
            for node in world.nodes { objects.append((node.name, node)) }
            for link in world.links { objects.append(("link of node \(link.node)", link)) }
            parts = objects.map { ($0.name, Part(object: $0.object)) }
        }

        /// The number of objects that the run has made.
        var count: Int { parts.count }
        /// The names of those that exist.
        var names: [String] { parts.filter { $0.part.object != nil }.map(\.name) }
    }

    @Test(
        "Nothing is left of a run in memory, whether it settles or violates an invariant",
        arguments: [nil, .epochKept] as [ClusterVariant?]
    )
    func runsAreFreed(variant: ClusterVariant?) async throws {
        let (violations, left) = try await onOwnThread {
            var (violations, left) = (0, [String]())
            for seed in UInt64(1)...5 {
                let remains = try {
                    let world = try ClusterWorld(seed: seed, variant, trace: Trace())
                    defer { world.breakCycles() }
                    do { try world.play() } catch is Violation { violations += 1 }
                    let remains = Remains(of: world)
                    #expect(remains.count > 5 && !remains.names.isEmpty)
                    return remains
                }()
                left += remains.names.map { "\($0) of seed \(seed)" }
            }
            return (violations, left)
        }
        #expect((violations > 0) == (variant != nil))
        #expect(left == [])
    }

    /// The seeds that detect the bugs that few seeds do.
    private static let seeds: [ClusterVariant: UInt64] = [
        .demotedPublish: 18, .staleReordered: 24, .epochIgnored: 27, .tailTrusted: 27,
        .pausedNotFenced: 33, .failoverForgotten: 35,
    ]

    @Test(
        "Each injected bug is detected, by an invariant that it violates",
        arguments: ClusterVariant.allCases
    )
    func isFoundOut(variant: ClusterVariant) async throws {
        let found = try await firstViolation(1...300, from: Self.seeds[variant]) {
            try ClusterSimulation.play(seed: $0, variant).violation
        }
        let (seed, violation) = try #require(found, "no run has detected it")
        #expect(variant.breaks.contains(violation.invariant), "seed \(seed): \(violation)")
    }
}
