import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench joins`: a growing presence channel.
struct JoinsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "joins",
        abstract:
            "Let thousands of users join one presence channel, and show what each join costs.",
        discussion: """
            Each user has one connection. Who joins gets the list of all members, and each member \
            is told once of each who joins later; otherwise the exit code is 1. So the work of a \
            join is proportional to the members: the figure for a join and member stays the same, \
            and so does the memory for a member. The figures are those of each step by itself, \
            taken when everybody knows everybody.

            The app must allow as many members: members_max in the configuration.

            Examples:
              fanfare bench joins
              fanfare bench joins --users 2000 --step 500
              fanfare bench joins --users 5000 --within 60 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("How many users join.", valueName: "count"))
    var users = 5_000

    @Option(
        help: ArgumentHelp(
            "After how many joins there are figures; 1,000, or --users if those are fewer.",
            valueName: "count"
        )
    )
    var step: Int?

    @Option(
        help: ArgumentHelp(
            "In which time they join; without it as fast as the server lets them in.",
            valueName: "seconds"
        )
    )
    var within: Double?

    @Option(help: ArgumentHelp("The presence channel.", valueName: "name"))
    var channel = "presence-fanfare-bench"

    func validate() throws {
        _ = try plan()
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> JoinsPlan {
        let userCount = try checked(users, "--users", max: 20_000)
        return JoinsPlan(
            channel: try checkedChannel(channel, isPresence: true),
            userCount: userCount,
            stepCount: try checked(step ?? min(1_000, userCount), "--step", max: userCount),
            rate: try within.map {
                Double(userCount) / (try checked($0, "--within", in: measurableSeconds))
            }
        )
    }
}

/// Users that join one presence channel and stay.
struct JoinsPlan: BenchPlan {
    let benchmark = "joins"
    /// A presence channel.
    var channel: ChannelName
    /// The number of users, each with one connection.
    var userCount: Int
    /// The number of joins between two measurements.
    var stepCount: Int
    /// Joins per second; nil for as many as the server accepts.
    var rate: Double?

    var connections: (count: Int, option: String) { (userCount, "--users") }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        JoinsRun(plan: self, generator: generator)
    }

    /// When each join is due.
    var pace: Pace { rate.map { .rate($0) } ?? .window(64) }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(userCount)) users join \(channel.text) (connected in \
            \(seconds(connectingTime)))\(rate)
            """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("users", .integer(userCount)),
            ("step", .integer(stepCount)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
