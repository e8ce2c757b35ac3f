import ArgumentParser

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
            pace: try pace.pace()
        )
    }
}
