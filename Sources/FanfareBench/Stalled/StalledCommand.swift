import ArgumentParser

/// `fanfare bench stalled`: readers beside stalled readers.
struct StalledCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stalled",
        abstract: "Measure what readers notice of others on their channel that do not read.",
        discussion: """
            Events are sent in slices, in turn without and with the stalled ones. These subscribe \
            and do not read until more has been sent to them than the server may hold back; then \
            they must find that it has closed them, and they come back. The exit code is 1 if a \
            reader lost an event, got one twice or out of order, if the 99th percentile of latency \
            is more than 1.2 times as long beside the stalled ones, if the server's memory grows \
            by more than --budget, or if a stalled one was never closed. All this takes twice \
            --seconds.

            --backlog must be more than the server's limit of queued bytes and what the kernel \
            holds besides, about half a MiB.

            Examples:
              fanfare bench stalled
              fanfare bench stalled --subscribers 100 --stalled 100 --seconds 10 --rounds 2
              fanfare bench stalled --rate 100 --size 1024 --backlog 2 --budget 64
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("How many connections read.", valueName: "count"))
    var subscribers = 1_000

    @Option(help: ArgumentHelp("How many do not.", valueName: "count"))
    var stalled = 1_000

    @Option(help: ArgumentHelp("How many channels they share evenly.", valueName: "count"))
    var channels = 1

    @Option(
        help: ArgumentHelp("How long events are sent with the stalled ones.", valueName: "seconds")
    )
    var seconds = 300.0

    @Option(
        help: ArgumentHelp(
            "Into how many slices that is cut, each beside one without them.",
            valueName: "count"
        )
    )
    var rounds = 5

    @Option(help: ArgumentHelp("The length of each event's data, in bytes.", valueName: "bytes"))
    var size = 1_024

    @OptionGroup var pace: PaceOptions

    @Option(
        help: ArgumentHelp("After how much data a stalled one reads again.", valueName: "MiB")
    )
    var backlog = 18

    @Option(
        help: ArgumentHelp(
            "How many stalled ones that were closed come back a second.",
            valueName: "per second"
        )
    )
    var reconnects = 100.0

    @Option(
        help: ArgumentHelp(
            """
            By how much the server's memory may grow; by default 16 MiB for each stalled one, which \
            is what the default configuration lets each queue hold.
            """,
            valueName: "MiB"
        )
    )
    var budget: Int?

    @Option(
        help: ArgumentHelp("The channel, or what the channels begin with.", valueName: "name")
    )
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
        try refuseDeflate(options)
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> StalledPlan {
        let channelCount = try checked(channels, "--channels", max: 100_000)
        let count = try checked(subscribers, "--subscribers", max: 100_000)
        guard count.isMultiple(of: channelCount) else {
            throw ValidationError("--subscribers must be a multiple of --channels")
        }
        let stalledCount = try checked(stalled, "--stalled", max: 100_000)
        let names =
            channelCount == 1 ? [channel] : (0..<channelCount).map { "\(channel)-\($0)" }
        return StalledPlan(
            channels: try names.map { try checkedChannel($0) },
            subscribersPerChannel: count / channelCount,
            stalledCount: stalledCount,
            duration: .seconds(try checked(seconds, "--seconds", in: measurableSeconds)),
            roundCount: try checked(rounds, "--rounds", max: 1_000),
            dataLength: try checkedSize(size),
            pace: try pace.pace(),
            backlog: try checkedMiB(backlog, "--backlog"),
            reconnectsPerSecond: try checked(reconnects, "--reconnects", in: 0.1...10_000),
            budget: try checkedMiB(budget ?? 16 * stalledCount, "--budget", max: 16 << 20)
        )
    }
}
