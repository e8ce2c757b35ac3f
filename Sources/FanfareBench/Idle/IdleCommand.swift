import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench idle`: idle connections.
struct IdleCommand: ScenarioCommand {
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

    @Option(name: .customLong("connections"), help: .count("Number of connections."))
    var connectionCount = 10_000

    @Option(help: .seconds("How long they are idle."))
    var seconds = 10.0

    @Option(help: "How clients would get what they missed: position, token or none.")
    var recovery = Recovery.none

    @Option(help: .name("Channel, public or private."))
    var channel = "fanfare-bench"

    func validate() throws {
        try checkChannel(channel)
        try check(connectionCount, "--connections")
        try check(seconds, "--seconds", in: measurableSeconds)
    }

    var connections: (count: Int, option: String) { (connectionCount, "--connections") }

    func begin(with generator: LoadGenerator) throws(BenchError) -> any ScenarioRun {
        guard let server = generator.server else { throw .noServerProcess }
        guard let memory = server.memory() else { throw .memoryUnreadable(ids: server.ids) }
        return IdleRun(self, try .named(channel), generator, memoryBefore: memory)
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(connectionCount)) connections subscribed to \(channel) (connected in \
        \(connectingTime)), idle for \(decimal(seconds, places: 3)) s
        """
    }

    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel)), ("connections", .integer(connectionCount)),
            ("idle_s", .number(seconds, places: 3)), ("recovery", .text(recovery.rawValue)),
        ]
    }
}
