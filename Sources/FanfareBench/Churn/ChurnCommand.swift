import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench churn`: connections that open and close.
struct ChurnCommand: ScenarioCommand {
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

    @Option(help: .count("Number of connections."))
    var cycles = 10_000

    @Option(help: .count("Maximum number of open connections."))
    var concurrency = 64

    @Option(help: .rate("Connections per second; by default as many as the server accepts."))
    var rate: Double?

    @Option(help: .name("Channel, public or private."))
    var channel = "fanfare-bench"

    func validate() throws {
        try checkChannel(channel)
        try check(cycles, "--cycles", max: 100_000_000)
        try check(concurrency, "--concurrency", max: 100_000)
        if let rate { try check(rate, "--rate", in: sendableRates) }
    }

    var connections: (count: Int, option: String) { (concurrency, "--concurrency") }

    func begin(with generator: LoadGenerator) throws(BenchError) -> any ScenarioRun {
        ChurnRun(self, try .named(channel), generator)
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(cycles)) connections subscribe to \(channel) and close, at most \
        \(grouped(concurrency)) at a time\(perSecond(rate))
        """
    }

    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel)), ("cycles", .integer(cycles)),
            ("concurrency", .integer(concurrency)), ("rate_per_s", .number(rate, places: 3)),
        ]
    }
}
