import ArgumentParser
import CommandSupport
import Net
import PusherProtocol

struct RestartCommand: ParsableCommand, Sendable {
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

    @Option(help: .count("Number of clients."))
    var clients = 19_000

    @Flag(help: "End the server with SIGKILL.")
    var kill = false

    @Option(help: "How clients resume: position, token or none.")
    var recovery = Recovery.none

    @Option(help: .seconds("Maximum time until all clients are back."))
    var within = 5.0

    @Option(help: .name("Channel, public or private."))
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
        try checkChannel(channel)
        try check(clients, "--clients", max: 100_000)
        try check(within, "--within", in: measurableSeconds)
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
        try options.run(RestartScenario(command: self, server: server))
    }
}

/// A server that runs, and is restarted under its clients.
struct RestartScenario: Scenario {
    static let name = "restart"
    let command: RestartCommand
    let server: ServerCommand

    var connections: (count: Int, option: String) { (command.clients, "--clients") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let clients = ReturningClients(
            count: command.clients,
            channel: try .named(command.channel),
            recovery: command.recovery,
            generator: generator
        )
        clients.connectAll()
        generator.onTurn { now throws(BenchError) in try clients.connectDue(at: now) }
        try generator.run { now throws(BenchError) in
            try generator.showConnecting(clients.subscribedCount, of: clients.count, at: now)
            return .until(clients.areSubscribed)
        }
        server.end(kill: command.kill)
        let endedAt = MonotonicTime.current
        try generator.run { _ in server.hasEnded ? .done : .wait(.milliseconds(2)) }
        let stoppingTime = endedAt.duration(to: .current)
        try server.start()
        let startedAt = MonotonicTime.current
        var returningTime = Duration.zero
        let timeMax = Duration.seconds(command.within)
        try generator.run { now in
            let (count, all) = (clients.subscribedCount, clients.count)
            generator.progress.show("Returning", count, of: all, at: now)
            returningTime = startedAt.duration(to: now)
            return .until(clients.areSubscribed || returningTime > max(timeMax * 2, .seconds(30)))
        }
        let fault =
            if !clients.areSubscribed {
                "\(grouped(clients.count - clients.subscribedCount)) clients are not back"
            } else if returningTime > timeMax {
                "all clients were back after \(seconds(returningTime)) only"
            } else {
                String?.none
            }
        return Findings(fault: fault) {
            Row.count("clients", "subscribed", clients.subscribedCount)
            Row.time("server ended after", "stopping", stoppingTime)
            Row.time("all back after", "returned", returningTime)
            Row.disconnections("connections ended", "connections", clients.disconnections)
        }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(command.clients)) clients of \(command.channel); the server is \
        \(command.kill ? "killed" : "stopped") and started again
        """
    }

    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(command.channel)), ("clients", .integer(command.clients)),
            ("signal", .text(command.kill ? "SIGKILL" : "SIGTERM")),
            ("recovery", .text(command.recovery.rawValue)),
            ("within_s", .number(command.within, places: 3)),
        ]
    }
}
