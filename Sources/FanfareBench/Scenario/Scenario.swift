import ArgumentParser
import Net

/// A benchmark with its parameters, as a value.
protocol Scenario: Sendable {
    /// The subcommand's name.
    static var name: String { get }
    /// The number of connections that are open at once, and the option that sets it.
    var connections: (count: Int, option: String) { get }
    /// The options' values, for the JSON object.
    var parameters: [BenchReport.Member] { get }
    /// A one-line description of the run, with the time in which its connections were opened.
    func headline(connectingTime: String) -> String
    /// Starts a run; called when the server has been reached.
    func begin(with generator: LoadGenerator) throws(BenchError) -> any ScenarioRun
}

/// A scenario whose parameters are the options of a subcommand.
protocol ScenarioCommand: ParsableCommand, Scenario {
    /// The options of all benchmarks.
    var options: BenchOptions { get }
}

extension ScenarioCommand {
    static var name: String { configuration.commandName ?? "" }

    /// The scenario with these options of the command line.
    static func with(_ options: [String]) throws -> Self { try parse(options) }

    func run() throws { try options.run(self) }
}

/// A running scenario.
protocol ScenarioRun: AnyObject {
    /// Does what is due; called once per turn of the loop.
    ///
    /// - Throws: When there can be no result.
    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep
    /// The results; called once, when the run has ended.
    @RowBuilder func rows() -> [Row]
    /// The faults in one line, with the stall timeout if it ended the run; nil if there is none.
    func fault(stalled: Duration?) -> String?
}

/// How a run continues.
enum BenchStep {
    /// Calls the next step after this time, or earlier when a connection has something to read.
    case wait(Duration)
    /// Ends the run after this time, in which it only receives.
    case finished(after: Duration)
    /// Ends the run: there was no progress within the stall timeout.
    case stalled

    /// The interval of progress updates, and the longest wait of a turn.
    static let tick = Duration.milliseconds(100)

    /// Waits for a connection to have something to read.
    static let idle = BenchStep.wait(tick)

    /// Ends the run when duplicates of the last deliveries would have arrived.
    static let complete = BenchStep.finished(after: duplicateWait)

    /// How long to wait for duplicates after the last delivery.
    static let duplicateWait = Duration.milliseconds(200)

    /// Waits until a time; nil stands for ``idle``.
    ///
    /// The loop's timers have a resolution of 1 ms: for the rest the loop polls without sleeping.
    static func wait(from now: MonotonicTime = .current, until due: MonotonicTime?) -> BenchStep {
        guard let due else { return .idle }
        let rest = now.duration(to: due) - .milliseconds(1)
        return .wait(max(.zero, min(rest, tick)))
    }
}

/// The earlier of two times; nil where neither is known.
func earlier(_ first: MonotonicTime?, _ second: MonotonicTime?) -> MonotonicTime? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}

/// The faults in one line; nil if there is none.
func joined(_ faults: [String?], by separator: String = ", ") -> String? {
    let known = faults.compactMap { $0 }
    return known.isEmpty ? nil : known.joined(separator: separator)
}
