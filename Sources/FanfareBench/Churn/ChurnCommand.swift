import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench churn`: connections that open and close.
struct ChurnCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "churn",
        abstract: "Open connections, subscribe and close, repeatedly.",
        discussion: """
            Each cycle is a TCP connection, the TLS handshake of a wss:// URL, the WebSocket \
            upgrade, a subscription and the closing handshake. Latency is the time from when a \
            connection was due until its subscription was acknowledged.

            Examples:
              fanfare bench churn
              fanfare bench churn --cycles 50000 --concurrency 256
              fanfare bench churn --rate 500 --url wss://localhost:6002 --insecure
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of connections.", valueName: "count"))
    var cycles = 10_000

    @Option(help: ArgumentHelp("Maximum number of open connections.", valueName: "count"))
    var concurrency = 64

    @Option(
        help: ArgumentHelp(
            "Connections per second; by default as many as the server accepts.",
            valueName: "per second"
        )
    )
    var rate: Double?

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> ChurnPlan {
        ChurnPlan(
            channel: try checkedChannel(channel),
            cycleCount: try checked(cycles, "--cycles", max: 100_000_000),
            concurrency: try checked(concurrency, "--concurrency", max: 100_000),
            rate: try rate.map { try checked($0, "--rate", in: sendableRates) }
        )
    }
}

/// Connections that subscribe and close.
struct ChurnPlan: BenchPlan {
    let benchmark = "churn"
    /// Public or private.
    var channel: ChannelName
    /// The number of connections.
    var cycleCount: Int
    /// The number of connections that may be open at once.
    var concurrency: Int
    /// Connections opened per second; nil for as many as the server accepts.
    var rate: Double?

    var connections: (count: Int, option: String) { (concurrency, "--concurrency") }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        ChurnRun(plan: self, generator: generator)
    }

    /// When each connection is opened.
    var pace: Pace { rate.map { .rate($0) } ?? .window(concurrency) }

    /// A one-line description of the run.
    var headline: String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(cycleCount)) connections subscribe to \(channel.text) and close, at most \
            \(grouped(concurrency)) at a time\(rate)
            """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("cycles", .integer(cycleCount)),
            ("concurrency", .integer(concurrency)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
