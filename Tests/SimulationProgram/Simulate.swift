import ArgumentParser
import Simulation

/// `fanfare-simulate`: runs the simulation with a range of seeds.
@main struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare-simulate",
        abstract:
            "Simulate the broker with random clients, backends and faults, and check its behaviour."
    )

    @Option(help: "The number of runs.")
    var seeds: UInt64 = 1_000

    @Option(help: "The seed of the first run.")
    var first: UInt64 = 1

    @Option(help: "Run only this seed.")
    var seed: UInt64?

    @Flag(help: "Simulate stock clients with session tokens, their pages and lost connections.")
    var sessions = false

    @Option(help: "With --sessions: inject this bug.")
    var sessionVariant: SessionVariant?

    @Flag(help: "Simulate apps of the Swift SDK that read a channel through several leases.")
    var leases = false

    @Option(help: "With --leases: inject this bug.")
    var leaseVariant: LeaseVariant?

    @Flag(help: "Simulate stored channels under kills, losses of power and failing disks instead.")
    var archive = false

    @Option(help: "With --archive: inject this bug.")
    var archiveVariant: ArchiveVariant?

    @Flag(help: "Simulate several nodes that share a Redis, under faults of all of them, instead.")
    var cluster = false

    @Option(help: "With --cluster: inject this bug.")
    var clusterVariant: ClusterVariant?

    @Flag(help: "Print the steps and messages.")
    var trace = false

    @Flag(help: "Print a hash of each run's trace.")
    var hash = false

    @Flag(help: "Print how often each situation was reached.")
    var tally = false

    @Flag(help: "Do not shrink a failing run.")
    var keep = false

    @Option(
        help:
            "The injected bug: \(Variant.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var variant: Variant?

    func run() throws {
        try Repeatable.begin()
        let numbers = seed.map { $0...$0 } ?? first...(first + max(seeds, 1) - 1)
        var progress = Progress(count: numbers.count, isShown: seed == nil && !hash)
        var situations: [Situation: Int] = [:]
        for number in numbers {
            Crash.record(seed: number)
            if archive {
                try playArchive(seed: number)
                progress.advance()
                continue
            }
            let lines: ((String) -> Void)? = trace ? { print($0) } : nil
            if sessions || cluster || leases {
                let trace = Trace(isHashed: hash, write: lines)
                let outcome =
                    if cluster {
                        try ClusterSimulation.play(seed: number, clusterVariant, trace: trace)
                    } else if leases {
                        try LeaseSimulation.play(seed: number, leaseVariant, trace: trace)
                    } else {
                        try SessionSimulation.play(seed: number, sessionVariant, trace: trace)
                    }
                situations.merge(outcome.situations, uniquingKeysWith: +)
                if hash { print(number, String(outcome.hash, radix: 16)) }
                if let violation = outcome.violation {
                    progress.end()
                    print("Seed \(number) violates \(violation)")
                    print(
                        "Again, whole: .build/release/fanfare-simulate \(options) --seed \(number) --trace"
                    )
                    throw ExitCode.failure
                }
                progress.advance()
                continue
            }
            let schedule = Schedule(seed: number)
            let outcome = try Simulation.play(
                schedule,
                variant,
                trace: Trace(isHashed: hash, write: lines)
            )
            situations.merge(outcome.situations, uniquingKeysWith: +)
            if hash { print(number, String(outcome.hash, radix: 16)) }
            if let violation = outcome.violation {
                progress.end()
                try report(violation, of: schedule)
                throw ExitCode.failure
            }
            progress.advance()
        }
        progress.end()
        guard tally else { return }
        let rows = situations.map { ("\($0)", $1) }.sorted { $0.0 < $1.0 }
        for (situation, count) in rows { print("\(count)\t\(situation)") }
    }

    /// The options of the simulation that is not the broker's alone.
    private var options: String {
        if cluster {
            return "--cluster" + (clusterVariant.map { " --cluster-variant \($0.rawValue)" } ?? "")
        }
        if leases {
            return "--leases" + (leaseVariant.map { " --lease-variant \($0.rawValue)" } ?? "")
        }
        return "--sessions" + (sessionVariant.map { " --session-variant \($0.rawValue)" } ?? "")
    }

    /// Simulates stored channels.
    private func playArchive(seed: UInt64) throws {
        guard let violation = try ArchiveWorld.play(seed: seed, archiveVariant) else { return }
        print("Seed \(seed) violates \(violation)")
        throw ExitCode.failure
    }

    /// Prints the violation, and the shrunk run.
    private func report(_ violation: Violation, of schedule: Schedule) throws {
        print("Seed \(schedule.seed) violates \(violation)")
        let options = variant.map { " --variant \($0.rawValue)" } ?? ""
        if !keep, !trace {
            let shortest = try Simulation.shrink(
                schedule,
                variant,
                violating: violation.invariant
            )
            print("\(shortest.stepCount) of its \(schedule.stepCount) steps do:")
            _ = try Simulation.play(shortest, variant, trace: Trace { print($0) })
        }
        print(
            "Again, whole: .build/release/fanfare-simulate --seed \(schedule.seed)\(options) --trace"
        )
    }
}

extension Variant: ExpressibleByArgument {}
extension ClusterVariant: ExpressibleByArgument {}
extension SessionVariant: ExpressibleByArgument {}
extension LeaseVariant: ExpressibleByArgument {}
extension ArchiveVariant: ExpressibleByArgument {}
