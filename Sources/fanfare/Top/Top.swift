import ArgumentParser
import BrokerConfiguration
import CommandSupport
import FanfareAPI
import Glibc
import Net

/// `fanfare top`: shows what a broker does, from its metrics.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a broker's load, each second.",
        discussion: """
            Shows connections, channels, events, deliveries and queues from the broker's metrics. \
            Set metrics.port in the broker's configuration, or FANFARE_METRICS_PORT for both \
            programs. Ctrl-C ends it. In a pipe, each refresh is printed below the last.

            Examples:
              fanfare top --config fanfare.yaml
              fanfare top --url http://127.0.0.1:9100
              fanfare top --url http://127.0.0.1:9100 --interval 10 --count 6 | tee load.txt
            """
    )

    @Option(
        help: ArgumentHelp(
            "The address of the metrics (or FANFARE_METRICS_URL).",
            valueName: "url"
        )
    )
    var url: String?

    @OptionGroup var source: ConfigurationSource

    @Option(help: ArgumentHelp("The time between two refreshes.", valueName: "seconds"))
    var interval = 1.0

    @Option(help: "Stop after this many refreshes.")
    var count: Int?

    func validate() throws {
        guard (0.1...3_600).contains(interval) else {
            throw ValidationError("--interval must be 0.1 to 3600 seconds, not \(interval).")
        }
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
    }

    func run() async throws {
        let metrics = try MetricsEndpoint(address)
        var screen = TopScreen(url: metrics.url)
        let isTerminal = isatty(STDOUT_FILENO) == 1
        var refreshCount = 0
        while true {
            // The first one has to succeed: a wrong address is not worth waiting for.
            do {
                screen.show(try await metrics.sample(), at: .current)
            } catch {
                guard refreshCount > 0 else { throw error }
                screen.problem = error.description
            }
            let text = screen.text
            Console.print(isTerminal ? Self.redrawing(text) : text + "\n")
            refreshCount += 1
            if refreshCount == count { return }
            try await Task.sleep(for: .seconds(interval))
        }
    }

    /// The address from the option, the environment, or the configuration.
    private var address: String {
        get throws {
            let named = variable("FANFARE_METRICS_URL", over: url, default: "")
            guard named.isEmpty else { return named }
            let configuration = try source.load(sections: ["metrics"]).metrics
            guard let port = configuration.port, port != 0 else {
                throw CommandError(
                    "The broker shows no metrics: set metrics.port in its configuration, and name "
                        + "the file with --config, or the address with --url. Without a file, "
                        + "start both commands with FANFARE_METRICS_PORT=9100."
                )
            }
            return "http://\(configuration.hosts.reachableName):\(port)"
        }
    }

    /// The text over what the terminal shows (ECMA-48: CUP, EL and ED).
    private static func redrawing(_ text: String) -> String {
        "\u{1B}[H" + text.replacing("\n", with: "\u{1B}[K\n") + "\u{1B}[K\u{1B}[J"
    }
}

/// The metrics of a broker over HTTP.
struct MetricsEndpoint {
    /// The address, with the path.
    let url: String
    private let transport: BrokerTransport

    /// Prepares requests to an address, with or without `/metrics`.
    init(_ address: String) throws(CommandError) {
        var address = address[...]
        for end in ["/", "/metrics"] where address.hasSuffix(end) {
            address = address.dropLast(end.count)
        }
        url = "\(address)/metrics"
        do {
            transport = try BrokerTransport(to: BrokerAddress(String(address)))
        } catch {
            throw CommandError("--url must be an address such as http://127.0.0.1:9100: \(error)")
        }
    }

    /// Reads the metrics.
    func sample() async throws(CommandError) -> MetricsSample {
        let request = APIRequest(
            method: "GET",
            target: "/metrics",
            body: [],
            timeout: .seconds(5),
            answerLengthMax: 16 << 20
        )
        let response: APIResponse
        do {
            response = try await transport.send(request)
        } catch {
            throw CommandError(
                "The metrics cannot be read from \(url): \(error). Check metrics.host and "
                    + "metrics.port in the broker's configuration."
            )
        }
        let sample = MetricsSample(String(decoding: response.body, as: UTF8.self))
        guard response.status == 200, sample["fanfare_connections"] != nil else {
            throw CommandError(
                "\(url) is not the address of a broker's metrics (status \(response.status)): "
                    + "check metrics.port in its configuration."
            )
        }
        return sample
    }
}
