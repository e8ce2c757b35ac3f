import ArgumentParser
import CommandSupport
import Primitives
import PusherProtocol

/// `fanfare bench idle`: idle connections.
struct IdleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Measure the memory and CPU time that idle subscribers cost.",
        discussion: """
            Memory per connection is the growth of the server's Pss (/proc/PID/smaps_rollup). Use \
            a freshly started server: memory that it reuses is not counted. At the end one event \
            is sent, which every connection must receive. The server must run on this machine; use \
            --pid if it is not found.

            Examples:
              fanfare bench idle
              fanfare bench idle --connections 10000 --seconds 30 --pid 4711
              fanfare bench idle --url wss://localhost:6002 --insecure --json -
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of connections.", valueName: "count"))
    var connections = 10_000

    @Option(help: ArgumentHelp("How long they are idle.", valueName: "seconds"))
    var seconds = 10.0

    @Option(help: "How clients would get what they missed: position, token or none.")
    var recovery = Recovery.none

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> IdlePlan {
        IdlePlan(
            channel: try checkedChannel(channel),
            connectionCount: try checked(connections, "--connections"),
            duration: .seconds(try checked(seconds, "--seconds", in: measurableSeconds)),
            recovery: recovery
        )
    }
}

/// Idle subscribed connections, and what they cost.
struct IdlePlan: BenchPlan {
    let benchmark = "idle"
    /// Public or private.
    var channel: ChannelName
    /// The number of connections.
    var connectionCount: Int
    /// How long the connections are idle.
    var duration: Duration
    /// How the connections' clients would get what they missed.
    var recovery = Recovery.none

    var connections: (count: Int, option: String) { (connectionCount, "--connections") }

    func begin(with generator: LoadGenerator) throws(BenchError) -> any BenchRun {
        guard let server = generator.server else { throw .noServerProcess }
        guard let memory = server.memory() else { throw .memoryUnreadable(ids: server.ids) }
        return IdleRun(plan: self, generator: generator, memoryBefore: memory)
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(connectionCount)) connections subscribed to \(channel.text) (connected in \
        \(seconds(connectingTime))), idle for \(seconds(duration))
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("connections", .integer(connectionCount)),
            ("idle_s", .number(duration.inSeconds, places: 3)),
            ("recovery", .text(recovery.rawValue)),
        ]
    }
}
