import ArgumentParser
import CommandSupport
import HTTPClient
import PusherProtocol

struct OfflineCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "offline",
        abstract: "Take all clients offline while events flow, and check that each gets all.",
        discussion: """
            All clients lose their connections at once, stay away and connect again together, as \
            behind a failure of the network. Events flow all the time; each client must receive \
            each one once. The latency of an event that a client missed counts from when it was \
            due, so it includes the time that the client was away.

            The exit code is 1 if:
              - a client lost an event, or was told of a gap,
              - a client with a position received an event twice,
              - the p99 latency of missed events is more than --within.

            With --recovery none the clients are stock clients without a token, and lose what they \
            missed.

            Examples:
              fanfare bench offline
              fanfare bench offline --recovery token
              fanfare bench offline --rate 50 --only-while-away
              fanfare bench offline --return-url ws://127.0.0.1:6002
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: .count("Number of clients."))
    var clients = 10_000

    @Option(help: .seconds("Time without connections."))
    var away = 2.0

    @Option(
        help: .url("Where the clients come back, if that is another node of a cluster than --url.")
    )
    var returnURL: String?

    @Option(help: .rate("Events per second."))
    var rate = 10.0

    @Flag(help: "Send events only while the clients are away.")
    var onlyWhileAway = false

    @Option(help: .bytes("Length of each event's data."))
    var size = 64

    @Option(help: "How clients get what they missed: position, token or none.")
    var recovery = Recovery.position

    @Option(help: .seconds("Maximum p99 latency of missed events."))
    var within = 3.0

    @Option(help: .name("Channel, public or private."))
    var channel = "fanfare-bench"

    func validate() throws {
        try checkChannel(channel)
        try check(clients, "--clients", max: 100_000)
        try check(away, "--away", in: measurableSeconds)
        if let returnURL { _ = try options.address(of: returnURL, "--return-url") }
        try check(rate, "--rate", in: sendableRates)
        try checkSize(size)
        try check(within, "--within", in: measurableSeconds)
    }

    var connections: (count: Int, option: String) { (clients, "--clients") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let address = try returnURL.flatMap { ServerURL(webSocketURL: $0) }?.addresses().first
        let run = OfflineRun(self, try .named(channel), generator)
        generator.onTurn { now throws(BenchError) in
            earlier(try run.clients.connectDue(at: now), run.publish())
        }
        let stalled = try generator.stall { () throws(BenchError) in
            try run.leaveAndReturn(to: address)
        }
        return Findings(fault: run.fault(stalled: stalled), rows: run.rows)
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(clients)) clients of \(channel) are away for \(decimal(away, places: 3)) s, with \
        \(decimal(rate, places: 1)) events a second of \(grouped(size)) bytes; recovery by \
        \(recovery.rawValue)
        """
    }

    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel)), ("clients", .integer(clients)),
            ("away_s", .number(away, places: 3)), ("rate_per_s", .number(rate, places: 3)),
            ("only_while_away", .integer(onlyWhileAway ? 1 : 0)),
            ("size_bytes", .integer(size)), ("recovery", .text(recovery.rawValue)),
            ("within_s", .number(within, places: 3)),
        ]
    }
}
