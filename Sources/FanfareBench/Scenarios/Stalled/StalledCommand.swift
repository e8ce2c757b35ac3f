import ArgumentParser
import CommandSupport
import Primitives
import PusherProtocol

struct StalledCommand: ScenarioCommand {
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
    @Option(help: .count("Number of connections that read.")) var subscribers = 1_000
    @Option(help: .count("Number of connections that do not read.")) var stalled = 1_000
    @Option(help: .count("Number of channels that they share evenly.")) var channels = 1

    @Option(help: .seconds("Total duration of the slices with stalled readers."))
    var seconds = 300.0

    @Option(help: .count("Number of slices with stalled readers, each paired with one without."))
    var rounds = 5

    @Option(help: .bytes("Length of each event's data.")) var size = 1_024
    @OptionGroup var pacing: PaceOptions
    @Option(help: .mebibytes("Data after which a stalled reader resumes reading.")) var backlog = 18

    @Option(help: .rate("Stalled readers that reconnect per second after they were closed."))
    var reconnects = 100.0

    @Option(
        help: .mebibytes(
            """
            Allowed growth of the server's memory; by default 16 MiB for each stalled reader, the \
            limit of each queue in the default configuration.
            """
        )
    )
    var budget: Int?

    @Option(help: .name("Channel, or prefix of the channels' names.")) var channel = "fanfare-bench"

    func validate() throws {
        try checkValues()
        try check(seconds, "--seconds")
        guard subscribers.isMultiple(of: channels) else {
            throw ValidationError("--subscribers must be a multiple of --channels")
        }
        try refuseDeflate(options)
    }

    private var channelNames: [String] {
        channels == 1 ? [channel] : ChannelName.texts(of: channels, prefix: channel)
    }

    /// The data after which a stalled reader resumes reading, in bytes: more than the server may queue for it.
    var backlogBytes: Int { backlog << 20 }
    /// The allowed growth of the server's memory in bytes.
    var budgetBytes: Int { (budget ?? 16 * stalled) << 20 }

    /// The allowed ratio of the p99 latency with stalled readers to that without.
    static let ratioMax = 1.2

    var connections: (count: Int, option: String) {
        (subscribers + stalled, "--subscribers or --stalled")
    }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let run = StalledRun(self, try ChannelName.named(channelNames), generator)
        let measured = try generator.measure { () throws(BenchError) in try run.run() }
        return run.findings(stalled: measured.stalled)
    }

    var slice: Duration { .seconds(seconds) / rounds }

    /// Whether each slice has stalled readers.
    ///
    /// The order alternates from pair to pair, so that a drift over time affects both kinds alike.
    var slices: [Bool] {
        (0..<rounds).flatMap { $0.isMultiple(of: 2) ? [false, true] : [true, false] }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(subscribers)) subscribers that read (connected in \(connectingTime)), without and \
        with \(grouped(stalled)) that do not, \(grouped(rounds)) × \
        \(decimal(slice.inSeconds, places: 3)) s each, events of \(grouped(size)) bytes, \
        \(pacing.pace)
        """
    }

    var values: [Parameter] {
        [
            .channel(channel, first: channelNames.first, last: channelNames.last),
            .count("channels", channels, "--channels", max: 100_000),
            .count("subscribers", subscribers, "--subscribers", max: 100_000),
            .count("stalled", stalled, "--stalled", max: 100_000),
            .value("slice_s", .number(seconds / Double(max(rounds, 1)), places: 3)),
            .count("rounds", rounds, "--rounds", max: 1_000), .size(size),
            .mebibytes("backlog_bytes", backlog, "--backlog", max: 1 << 20),
            .number("reconnects_per_s", reconnects, "--reconnects", in: 0.1...10_000),
            .mebibytes("budget_bytes", budget ?? 16 &* stalled, "--budget", max: 16 << 20),
        ] + pacing.parameters
    }
}
