import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench presence`: members that join and leave.
struct PresenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence",
        abstract: "Make members join and leave a presence channel, and check every notice.",
        discussion: """
            Each visit is by another user. Every observer must be notified of each join and leave \
            once and in order; otherwise the exit code is 1. Subscriptions are signed with the \
            app's secret. All observers are connections of one user, as a presence channel may \
            have 100 members. Latency is the time from when a change was due until an observer was \
            notified. A visitor leaves when all observers have been notified of its join; with \
            --rate, not before half the interval between two visits.

            Examples:
              fanfare bench presence
              fanfare bench presence --observers 1000 --visitors 8 --visits 500
              fanfare bench presence --rate 20 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of observing connections.", valueName: "count"))
    var observers = 100

    @Option(help: ArgumentHelp("Number of concurrent visitors.", valueName: "count"))
    var visitors = 4

    @Option(help: ArgumentHelp("Number of visits.", valueName: "count"))
    var visits = 1_000

    @Option(
        help: ArgumentHelp(
            "Visits per second; by default as many as the server accepts.",
            valueName: "per second"
        )
    )
    var rate: Double?

    @Option(help: ArgumentHelp("Presence channel.", valueName: "name"))
    var channel = "presence-fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> PresencePlan {
        PresencePlan(
            channel: try checkedChannel(channel, isPresence: true),
            observerCount: try checked(observers, "--observers", max: 100_000),
            visitorCount: try checked(visitors, "--visitors", max: 99),
            visitCount: try checked(visits, "--visits", max: 10_000_000),
            rate: try rate.map { try checked($0, "--rate", in: sendableRates) }
        )
    }
}

/// Members that join and leave a presence channel while others observe it.
struct PresencePlan: BenchPlan {
    let benchmark = "presence"
    /// A presence channel.
    var channel: ChannelName
    /// The number of observing connections.
    ///
    /// They belong to one user, as a channel may have 100 members.
    var observerCount: Int
    /// The number of visiting connections, each visit as another user.
    var visitorCount: Int
    /// The number of visits.
    var visitCount: Int
    /// Visits per second; nil for as many as the server accepts.
    var rate: Double?

    var connections: (count: Int, option: String) { (observerCount + visitorCount, "--observers") }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        PresenceRun(plan: self, generator: generator)
    }

    /// When each visit is due.
    var pace: Pace { rate.map { .rate($0) } ?? .window(visitorCount) }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(observerCount)) observers of \(channel.text) (connected in \
            \(seconds(connectingTime))), \(grouped(visitCount)) visits, at most \
            \(grouped(visitorCount)) at a time\(rate)
            """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("observers", .integer(observerCount)),
            ("visitors", .integer(visitorCount)), ("visits", .integer(visitCount)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
