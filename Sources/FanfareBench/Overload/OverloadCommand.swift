import ArgumentParser
import CommandSupport
import Primitives
import PusherProtocol

/// `fanfare bench overload`: more events than the server can deliver.
struct OverloadCommand: ParsableCommand {
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

    @Option(help: ArgumentHelp("Number of publishing connections.", valueName: "count"))
    var publishers = 16

    @Option(help: ArgumentHelp("Number of subscribers.", valueName: "count"))
    var subscribers = 2_000

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 10_240

    @Option(help: ArgumentHelp("Duration of each phase.", valueName: "seconds"))
    var seconds = 10.0

    @Option(
        help: ArgumentHelp(
            "Maximum number of events of the overload.",
            valueName: "count"
        )
    )
    var events: Int?

    @Option(
        help: ArgumentHelp(
            "Maximum number of events in flight in the phase with a window.",
            valueName: "count"
        )
    )
    var window = 16

    @Option(
        help: ArgumentHelp(
            "Events per second on the unrelated channel.",
            valueName: "per second"
        )
    )
    var rate = 100.0

    @Flag(help: "After an answer with 503, wait for the time in Retry-After.")
    var retryAfter = false

    @Option(
        help: ArgumentHelp(
            "Allowed growth of the server's memory; unlimited by default.",
            valueName: "MiB"
        )
    )
    var budget: Int?

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> OverloadPlan {
        OverloadPlan(
            channel: try checkedChannel(channel),
            unrelatedChannel: try checkedChannel(channel + "-unrelated"),
            publisherCount: try checked(publishers, "--publishers", max: 10_000),
            readerCount: try checked(subscribers, "--subscribers", max: 100_000),
            dataLength: try checkedSize(size),
            duration: .seconds(try checked(seconds, "--seconds", in: measurableSeconds)),
            eventCountMax: try events.map { try checked($0, "--events", max: 10_000_000) },
            window: try checked(window, "--window", max: 10_000),
            unrelatedRate: try checked(rate, "--rate", in: 1...10_000),
            obeysRetryAfter: retryAfter,
            budget: try budget.map { try checkedMiB($0, "--budget", max: 16 << 20) }
        )
    }
}

/// Publishers that send as fast as their sockets allow, to many readers of one channel.
struct OverloadPlan: BenchPlan {
    let benchmark = "overload"
    /// The channel of the load, public or private.
    var channel: ChannelName
    /// The channel whose latency the load must not affect.
    var unrelatedChannel: ChannelName
    /// The number of connections that publish.
    var publisherCount: Int
    /// The number of connections that read.
    var readerCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How long each of the three phases lasts.
    var duration: Duration
    /// The number of events after which the overload ends; nil for no limit but its duration.
    var eventCountMax: Int?
    /// The number of events in flight in the phase with a window.
    var window: Int
    /// Events a second on the unrelated channel.
    var unrelatedRate: Double
    /// Whether a connection waits for the time in Retry-After.
    var obeysRetryAfter: Bool
    /// Whether the load runs at the lowest priority: real publishers and readers run on other machines.
    var yieldsToServer = true
    /// The allowed growth of the server's resident memory in bytes; nil for no limit.
    var budget: Int?

    /// The allowed ratio of the unrelated channel's p99 latency during the overload to that in the quiet phase.
    static let latencyRatioMax = 3.0
    /// The required ratio of the deliveries per second without a window to those with one.
    static let rateShareMin = 0.9

    var connections: (count: Int, option: String) {
        (readerCount + publisherCount + 2, "--subscribers or --publishers")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        OverloadRun(plan: self, generator: generator)
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(readerCount)) subscribers (connected in \(seconds(connectingTime))), \
        \(grouped(publisherCount)) publishing connections, events of \(grouped(dataLength)) bytes: \
        \(seconds(duration)) without, with a window of \(grouped(window)), and as many as the \
        sockets take
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("publishers", .integer(publisherCount)),
            ("subscribers", .integer(readerCount)), ("size_bytes", .integer(dataLength)),
            ("phase_s", .number(duration.inSeconds, places: 3)),
            ("events", eventCountMax.map { .integer($0) } ?? .null), ("window", .integer(window)),
            ("unrelated_rate_per_s", .number(unrelatedRate, places: 3)),
            ("obeys_retry_after", .integer(obeysRetryAfter ? 1 : 0)),
            ("budget_bytes", budget.map { .integer($0) } ?? .null),
        ]
    }
}
