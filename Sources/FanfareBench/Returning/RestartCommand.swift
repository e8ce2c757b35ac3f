import ArgumentParser
import CommandSupport
import Primitives
import PusherProtocol

/// `fanfare bench restart`: a server that is restarted under its clients.
struct RestartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Restart the server, and measure how long its clients take to return.",
        discussion: """
            Starts the server with the command behind --, which must listen at --url, connects the \
            clients, ends the server with SIGTERM (--kill: SIGKILL), starts it again, and waits \
            until all clients are subscribed. They reconnect as pusher-js does: a second after a \
            connection has ended or was refused, at once after a code from 4200 to 4299.

            The exit code is 1 if not all clients are back --within seconds after the new process \
            has started.

            All connections come from one address, to 127.0.0.1 from sixteen: raise limits of connections per \
            address.

            Examples:
              fanfare bench restart -- fanfare serve --port 6001
              fanfare bench restart --kill --clients 5000 -- fanfare serve --port 6001
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of clients.", valueName: "count"))
    var clients = 19_000

    @Flag(help: "End the server with SIGKILL.")
    var kill = false

    @Option(help: "How clients resume: position, token or none.")
    var recovery = Recovery.none

    @Option(help: ArgumentHelp("Maximum time until all clients are back.", valueName: "seconds"))
    var within = 5.0

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The server's program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("the command that starts the server is missing: -- COMMAND…")
        }
        _ = try plan(ServerCommand(command))
    }

    func run() throws {
        let server = ServerCommand(command)
        let target = try options.target()
        do throws(BenchError) {
            try server.start()
            try server.waitUntilListening(target.url)
        } catch {
            server.kill()
            throw CommandError("\(error)")
        }
        defer { server.kill() }
        try options.run(plan(server))
    }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan(_ server: ServerCommand) throws -> RestartPlan {
        RestartPlan(
            channel: try checkedChannel(channel),
            clientCount: try checked(clients, "--clients", max: 100_000),
            isKilled: kill,
            recovery: recovery,
            timeMax: .seconds(try checked(within, "--within", in: measurableSeconds)),
            server: server
        )
    }
}

/// A server that is restarted under its clients.
struct RestartPlan: BenchPlan {
    let benchmark = "restart"
    /// Public or private.
    var channel: ChannelName
    /// The number of clients.
    var clientCount: Int
    /// Whether the server is killed; otherwise it is told to stop.
    var isKilled: Bool
    /// How clients resume.
    var recovery: Recovery
    /// The longest time until all clients are back.
    var timeMax: Duration
    /// The server, which runs.
    var server: ServerCommand

    var connections: (count: Int, option: String) { (clientCount, "--clients") }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        RestartRun(plan: self, generator: generator)
    }

    /// A one-line description of the run.
    var headline: String {
        """
        \(grouped(clientCount)) clients of \(channel.text); the server is \
        \(isKilled ? "killed" : "stopped") and started again
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("clients", .integer(clientCount)),
            ("signal", .text(isKilled ? "SIGKILL" : "SIGTERM")),
            ("recovery", .text(recovery.rawValue)),
            ("within_s", .number(timeMax.inSeconds, places: 3)),
        ]
    }
}
