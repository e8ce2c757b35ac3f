import ArgumentParser
import CommandSupport
import Net
import Primitives
import PusherProtocol

/// `fanfare bench offline`: clients that lose the network for a while.
struct OfflineCommand: ParsableCommand {
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

    @Option(help: ArgumentHelp("Number of clients.", valueName: "count"))
    var clients = 10_000

    @Option(help: ArgumentHelp("Time without connections.", valueName: "seconds"))
    var away = 2.0

    @Option(
        help: ArgumentHelp(
            "Where the clients come back, if that is another node of a cluster than --url.",
            valueName: "url"
        )
    )
    var returnURL: String?

    @Option(help: ArgumentHelp("Events per second.", valueName: "per second"))
    var rate = 10.0

    @Flag(help: "Send events only while the clients are away.")
    var onlyWhileAway = false

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 64

    @Option(help: "How clients get what they missed: position, token or none.")
    var recovery = Recovery.position

    @Option(
        help: ArgumentHelp("Maximum p99 latency of missed events.", valueName: "seconds")
    )
    var within = 3.0

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> OfflinePlan {
        OfflinePlan(
            channel: try checkedChannel(channel),
            clientCount: try checked(clients, "--clients", max: 100_000),
            timeAway: .seconds(try checked(away, "--away", in: measurableSeconds)),
            returnAddress: try returnURL.map { try options.address(of: $0, "--return-url") },
            rate: try checked(rate, "--rate", in: sendableRates),
            isQuietOtherwise: onlyWhileAway,
            dataLength: try checkedSize(size),
            recovery: recovery,
            latencyMax: .seconds(try checked(within, "--within", in: measurableSeconds))
        )
    }
}

/// Clients that lose the network while events flow.
struct OfflinePlan: BenchPlan {
    let benchmark = "offline"
    /// Public or private.
    var channel: ChannelName
    /// The number of clients.
    var clientCount: Int
    /// The time from the loss of the connections until the clients connect again.
    var timeAway: Duration
    /// Where the clients come back; nil for the same server.
    var returnAddress: SocketAddress? = nil
    /// Events per second.
    var rate: Double
    /// Whether events are sent only while the clients are away.
    var isQuietOtherwise: Bool
    /// The length of each event's data in bytes.
    var dataLength: Int
    /// How clients get what they missed.
    var recovery: Recovery
    /// The greatest p99 latency of missed events.
    var latencyMax: Duration

    var connections: (count: Int, option: String) { (clientCount, "--clients") }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        OfflineRun(plan: self, generator: generator)
    }

    /// A one-line description of the run.
    var headline: String {
        """
        \(grouped(clientCount)) clients of \(channel.text) are away for \(seconds(timeAway)), with \
        \(decimal(rate, places: 1)) events a second of \(grouped(dataLength)) bytes; recovery by \
        \(recovery.rawValue)
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("clients", .integer(clientCount)),
            ("away_s", .number(timeAway.inSeconds, places: 3)),
            ("rate_per_s", .number(rate, places: 3)),
            ("only_while_away", .integer(isQuietOtherwise ? 1 : 0)),
            ("size_bytes", .integer(dataLength)), ("recovery", .text(recovery.rawValue)),
            ("within_s", .number(latencyMax.inSeconds, places: 3)),
        ]
    }
}
