import ArgumentParser
import CommandSupport
import Primitives
import PusherProtocol

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

/// Subscribers that read, without and with stalled subscribers beside them.
struct StalledPlan: BenchPlan {
    let benchmark = "stalled"
    /// Public or private, at least one.
    var channels: [ChannelName]
    /// The number of connections that read, per channel.
    var subscribersPerChannel: Int
    /// The number of connections that do not read.
    var stalledCount: Int
    /// How long events are sent with the stalled readers, and as long again without them.
    var duration: Duration
    /// The number of pairs of slices: one without and one with the stalled readers.
    var roundCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How fast events are sent.
    var pace: Pace
    /// The bytes of data after which a stalled reader resumes reading: more than the server may queue for it.
    var backlog: Int
    /// How many closed stalled readers reconnect per second.
    var reconnectsPerSecond: Double
    /// The allowed growth of the server's resident memory in bytes.
    var budget: Int

    /// The allowed ratio of the p99 latency with stalled readers to that without.
    static let ratioMax = 1.2

    var connections: (count: Int, option: String) {
        (channels.count * subscribersPerChannel + stalledCount, "--subscribers or --stalled")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        StalledRun(plan: self, generator: generator)
    }

    /// The duration of a slice.
    var slice: Duration { duration / roundCount }

    /// Whether each slice has stalled readers.
    ///
    /// The order alternates from pair to pair, so that a drift over time affects both kinds alike.
    var slices: [Bool] {
        (0..<roundCount).flatMap { $0.isMultiple(of: 2) ? [false, true] : [true, false] }
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(channels.count * subscribersPerChannel)) subscribers that read (connected in \
        \(seconds(connectingTime))), without and with \(grouped(stalledCount)) that do not, \
        \(grouped(roundCount)) × \(seconds(slice)) each, events of \(grouped(dataLength)) bytes, \
        \(pace)
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channels[0].text)), ("channels", .integer(channels.count)),
            ("subscribers", .integer(channels.count * subscribersPerChannel)),
            ("stalled", .integer(stalledCount)),
            ("slice_s", .number(slice.inSeconds, places: 3)), ("rounds", .integer(roundCount)),
            ("size_bytes", .integer(dataLength)), ("backlog_bytes", .integer(backlog)),
            ("reconnects_per_s", .number(reconnectsPerSecond, places: 3)),
            ("budget_bytes", .integer(budget)),
        ] + pace.parameters
    }
}
