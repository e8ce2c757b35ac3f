import ArgumentParser

/// `fanfare bench stalled`: readers beside stalled readers.
struct StalledCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stalled",
        abstract: "Measure how stalled readers affect the other readers of their channel.",
        discussion: """
            Events are sent in slices, alternately without and with stalled readers. A stalled \
            reader subscribes and does not read until more data has been sent to it than the \
            server may queue. By then the server must have closed it, and it reconnects. The run \
            takes twice --seconds.

            The exit code is 1 if:
              - a reader lost an event, or received one twice or out of order,
              - the p99 latency is more than 1.2 times as high with stalled readers,
              - the server's memory grew by more than --budget,
              - the server did not close a stalled reader.

            --backlog must be more than the server's limit of queued bytes plus the kernel's \
            buffers, about half a MiB.

            Examples:
              fanfare bench stalled
              fanfare bench stalled --subscribers 100 --stalled 100 --seconds 10 --rounds 2
              fanfare bench stalled --rate 100 --size 1024 --backlog 2 --budget 64
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of connections that read.", valueName: "count"))
    var subscribers = 1_000

    @Option(help: ArgumentHelp("Number of connections that do not read.", valueName: "count"))
    var stalled = 1_000

    @Option(help: ArgumentHelp("Number of channels that they share evenly.", valueName: "count"))
    var channels = 1

    @Option(
        help: ArgumentHelp(
            "Total duration of the slices with stalled readers.",
            valueName: "seconds"
        )
    )
    var seconds = 300.0

    @Option(
        help: ArgumentHelp(
            "Number of slices with stalled readers, each paired with one without.",
            valueName: "count"
        )
    )
    var rounds = 5

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 1_024

    @OptionGroup var pace: PaceOptions

    @Option(
        help: ArgumentHelp("Data after which a stalled reader resumes reading.", valueName: "MiB")
    )
    var backlog = 18

    @Option(
        help: ArgumentHelp(
            "Stalled readers that reconnect per second after they were closed.",
            valueName: "per second"
        )
    )
    var reconnects = 100.0

    @Option(
        help: ArgumentHelp(
            """
            Allowed growth of the server's memory; by default 16 MiB for each stalled reader, the \
            limit of each queue in the default configuration.
            """,
            valueName: "MiB"
        )
    )
    var budget: Int?

    @Option(
        help: ArgumentHelp("Channel, or prefix of the channels' names.", valueName: "name")
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
