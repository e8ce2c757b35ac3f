import ArgumentParser
import CommandSupport
import Glibc
import HTTPClient
import Net
import PusherProtocol
import Synchronization

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
    @Option(help: .count("Number of clients.")) var clients = 19_000
    @Flag(help: "End the server with SIGKILL.") var kill = false
    @Option(help: "How clients resume: position, token or none.") var recovery = Recovery.none
    @Option(help: .seconds("Maximum time until all clients are back.")) var within = 5.0
    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The server's program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("the command that starts the server is missing: -- COMMAND…")
        }
        for value in values { try value.check() }
    }

    fileprivate var values: [Parameter] {
        [
            .channel(channel), .count("clients", clients, "--clients", max: 100_000),
            .value("signal", .text(kill ? "SIGKILL" : "SIGTERM")), .recovery(recovery),
            .number("within_s", within, "--within"),
        ]
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
            generator
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

    var parameters: [BenchReport.Member] { command.values.map(\.member) }
}

/// A server that the benchmark starts and ends.
final class ServerCommand: Sendable {
    private let arguments: [String]
    /// The running process; 0 without one.
    private let process = Atomic<pid_t>(0)

    private static let startTimeMax = Duration.seconds(30)

    /// Describes a server that is not started: the program, looked up in `PATH`, and its arguments.
    init(_ arguments: [String]) { self.arguments = arguments }

    /// Starts the process; its standard output is discarded, its standard error is this process's.
    func start() throws(BenchError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var words = arguments.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, arguments[0], &actions, nil, words, environ)
        guard code == 0 else {
            throw .machine("\(arguments[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        process.store(id, ordering: .relaxed)
    }

    func waitUntilListening(_ url: ServerURL) throws(BenchError) {
        let clock = ContinuousClock()
        let deadline = clock.now + Self.startTimeMax
        while ServerProcess(listeningOn: url.port) == nil {
            guard !hasEnded, clock.now < deadline else {
                throw .machine("\(arguments[0]) does not listen on port \(url.port).")
            }
            usleep(10_000)
        }
    }

    func end(kill: Bool) {
        let id = process.load(ordering: .relaxed)
        if id > 0 { Glibc.kill(id, kill ? SIGKILL : SIGTERM) }
    }

    var hasEnded: Bool {
        let id = process.load(ordering: .relaxed)
        guard id > 0 else { return true }
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return false }
        process.store(0, ordering: .relaxed)
        return true
    }

    /// Kills the process and waits for its end.
    func kill() {
        let id = process.exchange(0, ordering: .relaxed)
        guard id > 0 else { return }
        Glibc.kill(id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}
