import ArgumentParser
import PusherProtocol

/// `fanfare bench fanout`: one channel with many subscribers.
struct FanoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Send events to many subscribers of one channel and check every delivery.",
        discussion: """
            Every subscriber must receive every event once and in order; otherwise the exit code \
            is 1. Events are triggered over the signed HTTP API. With --rate, latency counts from \
            the time at which an event was due, whether or not the server kept up.

            Examples:
              fanfare bench fanout
              fanfare bench fanout --subscribers 1000 --messages 200 --rate 20
              fanfare bench fanout --subscribers 1000 --size 1024 --deflate
              fanfare bench fanout --url wss://localhost:6002 --trust cert.pem --json -
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of subscribers.", valueName: "count"))
    var subscribers = 10_000

    @Option(help: ArgumentHelp("Number of events.", valueName: "count"))
    var messages = 100

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 64

    @OptionGroup var pace: PaceOptions

    @Option(help: "How subscribers would get what they missed: position, token or none.")
    var recovery = Recovery.none

    @Option(help: ArgumentHelp("Channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> DeliveryPlan {
        DeliveryPlan(
            benchmark: "fanout",
            channels: [try checkedChannel(channel)],
            subscribersPerChannel: try checked(subscribers, "--subscribers"),
            messageCount: try checked(messages, "--messages", max: 100_000_000),
            dataLength: try checkedSize(size),
            pace: try pace.pace(),
            recovery: recovery
        )
    }
}

/// `fanfare bench channels`: many channels with few subscribers each.
struct ChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Send events to many channels with few subscribers and check every delivery.",
        discussion: """
            Events are sent to the channels in turn. Every subscriber must receive the events of \
            its channel once and in order, and no others. This measures the cost of an event (HTTP \
            request, signature, channel) rather than of a delivery.

            Examples:
              fanfare bench channels
              fanfare bench channels --channels 5000 --subscribers 2 --messages 50000
              fanfare bench channels --rate 2000 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of channels.", valueName: "count"))
    var channels = 500

    @Option(help: ArgumentHelp("Number of subscribers of each channel.", valueName: "count"))
    var subscribers = 4

    @Option(help: ArgumentHelp("Total number of events.", valueName: "count"))
    var messages = 20_000

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 64

    @OptionGroup var pace: PaceOptions

    @Option(
        help: ArgumentHelp(
            "Prefix of the channels' names, public or private; a number is appended.",
            valueName: "name"
        )
    )
    var channel = "fanfare-bench"

    @Option(help: "How subscribers would get what they missed: position, token or none.")
    var recovery = Recovery.none

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> DeliveryPlan {
        let name = try checkedChannel(channel)
        let count = try checked(channels, "--channels", max: 100_000)
        let subscribersMax = 1_000_000 / count
        return DeliveryPlan(
            benchmark: "channels",
            channels: try (0..<count).map { try checkedChannel("\(name.text)-\($0)") },
            subscribersPerChannel: try checked(
                subscribers,
                "--subscribers",
                max: subscribersMax
            ),
            messageCount: try checked(messages, "--messages", max: 100_000_000),
            dataLength: try checkedSize(size),
            pace: try pace.pace(),
            recovery: recovery
        )
    }
}
