import ArgumentParser
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
