import ArgumentParser
import CommandSupport
import PusherProtocol

struct OverloadCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload",
        abstract: "Trigger more events than the server can deliver, and check those it accepts.",
        discussion: """
            Three phases of --seconds each: idle subscribers; events with a window, which measures \
            the server's capacity; then every publishing connection sends as many events as its \
            socket accepts, without waiting for answers. Meanwhile an unrelated channel gets \
            --rate events per second, published and read on a separate thread. The load runs at \
            the lowest priority, so that it does not compete with a server on this machine.

            The exit code is 1 if:
              - an event answered 200 did not reach every subscriber once and in order,
              - an event answered 503 reached a subscriber,
              - an answer 503 had no Retry-After,
              - a subscriber was closed,
              - deliveries per second were below 0.9 times those with a window,
              - the unrelated channel's p99 latency was above 3 times that without load,
              - the server's memory grew by more than --budget.

            Examples:
              fanfare bench overload
              fanfare bench overload --publishers 64 --subscribers 8000
              fanfare bench overload --seconds 5 --budget 128 --json -
              fanfare bench overload --retry-after --size 1024
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of publishing connections.")) var publishers = 16
    @Option(help: .count("Number of subscribers.")) var subscribers = 2_000
    @Option(help: .bytes("Length of each event's data.")) var size = 10_240
    @Option(help: .seconds("Duration of each phase.")) var seconds = 10.0
    @Option(help: .count("Maximum number of events of the overload.")) var events: Int?

    @Option(help: .count("Maximum number of events in flight in the phase with a window."))
    var window = 16

    @Option(help: .rate("Events per second on the unrelated channel.")) var rate = 100.0

    @Flag(help: "After an answer with 503, wait for the time in Retry-After.")
    var retryAfter = false

    @Option(help: .mebibytes("Allowed growth of the server's memory; unlimited by default."))
    var budget: Int?

    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    /// The allowed growth of the server's resident memory in bytes; nil for no limit.
    var budgetBytes: Int? { budget.map { $0 << 20 } }

    /// The allowed ratio of the unrelated channel's p99 latency during the overload to that in the quiet phase.
    static let latencyRatioMax = 3.0
    /// The required ratio of the deliveries per second without a window to those with one.
    static let rateShareMin = 0.9

    var connections: (count: Int, option: String) {
        (subscribers + publishers + 2, "--subscribers or --publishers")
    }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let unrelated = UnrelatedChannel(try .named(channel + "-unrelated"), rate: rate)
        defer { unrelated.update { $0.isCancelled = true } }
        let run = OverloadRun(self, try .named(channel), unrelated, generator)
        try run.run()
        return Findings(fault: run.fault, rows: run.rows)
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(subscribers)) subscribers (connected in \(connectingTime)), \
        \(grouped(publishers)) publishing connections, events of \(grouped(size)) bytes: \
        \(decimal(seconds, places: 3)) s without, with a window of \(grouped(window)), and as many as the \
        sockets take
        """
    }

    var values: [Parameter] {
        [
            .channel(channel, last: channel + "-unrelated"),
            .count("publishers", publishers, "--publishers", max: 10_000),
            .count("subscribers", subscribers, "--subscribers", max: 100_000), .size(size),
            .number("phase_s", seconds, "--seconds"),
            .count("events", events, "--events", max: 10_000_000),
            .count("window", window, "--window", max: 10_000),
            .number("unrelated_rate_per_s", rate, "--rate", in: 1...10_000),
            .value("obeys_retry_after", .integer(retryAfter ? 1 : 0)),
            .mebibytes("budget_bytes", budget, "--budget", max: 16 << 20),
        ]
    }
}
