import ArgumentParser
import PusherProtocol

/// `fanfare bench channels`: many channels with few subscribers each.
struct ChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Send events to many channels with few subscribers and check every delivery.",
        discussion: """
            The events go to one channel after the other; every subscriber must receive those of \
            its channel once and in order, and no other. This measures what an event costs rather \
            than what a delivery costs: its HTTP request, its signature, its channel.

            Examples:
              fanfare bench channels
              fanfare bench channels --channels 5000 --subscribers 2 --messages 50000
              fanfare bench channels --rate 2000 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("How many channels there are.", valueName: "count"))
    var channels = 500

    @Option(help: ArgumentHelp("How many connections subscribe to each.", valueName: "count"))
    var subscribers = 4

    @Option(help: ArgumentHelp("How many events are triggered in all.", valueName: "count"))
    var messages = 20_000

    @Option(help: ArgumentHelp("The length of each event's data, in bytes.", valueName: "bytes"))
    var size = 64

    @OptionGroup var pace: PaceOptions

    @Option(
        help: ArgumentHelp(
            "The channels' name, public or private; each gets a number behind it.",
            valueName: "name"
        )
    )
    var channel = "fanfare-bench"

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
            pace: try pace.pace()
        )
    }
}
