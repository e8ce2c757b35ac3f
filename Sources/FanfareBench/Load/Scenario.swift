import ArgumentParser
import CommandSupport

/// A benchmark with its parameters, as a value.
protocol Scenario: Sendable {
    static var name: String { get }
    /// The number of connections that are open at once, and the option that sets it.
    var connections: (count: Int, option: String) { get }
    var parameters: [BenchReport.Member] { get }
    /// A one-line description of the run, with the time in which its connections were opened.
    func headline(connectingTime: String) -> String
    /// Measures a server that has been reached.
    ///
    /// Runs on the thread of the load, and waits in ``LoadGenerator/run(_:)``.
    ///
    /// - Throws: When there can be no result.
    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings
}

/// The results of a run, and its faults in one line; nil if there is none.
struct Findings {
    var rows: [Row]
    var fault: String?

    init(fault: String?, @RowBuilder rows: () -> [Row]) {
        self.rows = rows()
        self.fault = fault
    }
}

/// A scenario whose parameters are the options of a subcommand.
protocol ScenarioCommand: ParsableCommand, Scenario {
    var options: BenchOptions { get }
    /// The values of the other options, in the order of the JSON object.
    var values: [Parameter] { get }
}

extension ScenarioCommand {
    static var name: String { configuration.commandName ?? "" }
    var parameters: [BenchReport.Member] { values.map(\.member) }
    func validate() throws { try checkValues() }
    func checkValues() throws { for value in values { try value.check() } }

    /// The scenario with these options of the command line.
    static func with(_ options: [String]) throws -> Self { try parse(options) }
    func run() throws { try options.run(self) }
}

/// The faults in one line; nil if there is none.
func joined(_ faults: [String?], by separator: String = ", ") -> String? {
    let known = faults.compactMap { $0 }
    return known.isEmpty ? nil : known.joined(separator: separator)
}

/// A number of faults; nil for none.
func counted(_ count: Int, _ faults: String) -> String? {
    count > 0 ? "\(grouped(count)) \(faults)" : nil
}
