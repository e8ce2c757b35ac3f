import ArgumentParser
import Simulation

/// `fanfare-simulate`: plays runs of the broker, each of which its seed repeats.
@main struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare-simulate",
        abstract:
            "Play the broker with random clients, backends and faults, and check what they see."
    )

    @Option(help: "How many runs to play.")
    var seeds: UInt64 = 1_000

    @Option(help: "The seed of the first run.")
    var first: UInt64 = 1

    @Option(help: "Play this run only.")
    var seed: UInt64?

    @Flag(help: "Print what happens.")
    var trace = false

    @Flag(help: "Print a number for each run that is the same only if the same happens.")
    var hash = false

    @Flag(help: "Say in the end what the runs have met, and how often.")
    var tally = false

    @Flag(help: "Do not look for a shorter run when one fails.")
    var keep = false

    @Option(
        help:
            "How the broker is broken: \(Variant.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var variant: Variant?

    func run() throws {
        try Repeatable.begin()
        let numbers = seed.map { $0...$0 } ?? first...(first + max(seeds, 1) - 1)
        var progress = Progress(count: numbers.count, isShown: seed == nil && !hash)
        var meetings: [Meeting: Int] = [:]
        for number in numbers {
            Crash.note(seed: number)
            let schedule = Schedule(seed: number)
            let lines: ((String) -> Void)? = trace ? { print($0) } : nil
            let outcome = try Simulation.play(
                schedule,
                variant,
                trace: Trace(isHashed: hash, write: lines)
            )
            meetings.merge(outcome.meetings, uniquingKeysWith: +)
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
        let rows = meetings.map { ("\($0)", $1) }.sorted { $0.0 < $1.0 }
        for (meeting, count) in rows { print("\(count)\t\(meeting)") }
    }

    /// Says what was violated, and by what little.
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
