import ArgumentParser
import PusherProtocol

/// `fanfare bench overload`: more events than the server can deliver.
struct OverloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload",
        abstract: "Trigger more events than the server can deliver, and check what it accepts.",
        discussion: """
            Three phases of --seconds each: idle subscribers; events with a window, which shows \
            how much the server can deliver; then every publishing connection sends as many \
            events as its socket takes, without waiting for answers. Meanwhile another channel \
            gets --rate events a second, sent and read on a thread of their own. The load itself \
            runs at the lowest priority, so that a server on this machine has the core that it needs.

            The exit code is 1 if an event that was answered 200 did not reach each subscriber \
            once and in its connection's order, if one that was answered 503 reached any, if an \
            answer with 503 had no Retry-After, if a subscriber was closed, if less than 0.9 of \
            what a window allows arrived a second, if the 99th percentile of the other channel's \
            latency is more than 3 times as long beside the overload as beside idle subscribers, \
            or if the server's memory grows by more than --budget.

            Examples:
              fanfare bench overload
              fanfare bench overload --publishers 64 --subscribers 8000
              fanfare bench overload --seconds 5 --budget 128 --json -
              fanfare bench overload --retry-after --size 1024
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("How many connections publish.", valueName: "count"))
    var publishers = 16

    @Option(help: ArgumentHelp("How many connections subscribe and read.", valueName: "count"))
    var subscribers = 2_000

    @Option(help: ArgumentHelp("The length of each event's data, in bytes.", valueName: "bytes"))
    var size = 10_240

    @Option(help: ArgumentHelp("How long each phase lasts.", valueName: "seconds"))
    var seconds = 10.0

    @Option(
        help: ArgumentHelp(
            "End the overload after so many events, if --seconds are not over before.",
            valueName: "count"
        )
    )
    var events: Int?

    @Option(
        help: ArgumentHelp(
            "How many events may be on their way at once in the phase with a window.",
            valueName: "count"
        )
    )
    var window = 16

    @Option(
        help: ArgumentHelp(
            "How many events a second the other channel gets.",
            valueName: "per second"
        )
    )
    var rate = 100.0

    @Flag(help: "Have a connection that is answered 503 wait as long as Retry-After says.")
    var retryAfter = false

    @Option(
        help: ArgumentHelp(
            "By how much the server's memory may grow; unlimited by default.",
            valueName: "MiB"
        )
    )
    var budget: Int?

    @Option(help: ArgumentHelp("The channel, public or private.", valueName: "name"))
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
