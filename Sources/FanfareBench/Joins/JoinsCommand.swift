import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare bench joins`: a growing presence channel.
struct JoinsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "joins",
        abstract: "Add thousands of users to one presence channel, and show the cost of a join.",
        discussion: """
            Each user has one connection. A new member must receive the list of all members, and \
            every other member one notice of the join; otherwise the exit code is 1. The work of a \
            join grows with the number of members: expect constant CPU time per join and member, \
            and constant memory per member. Each row covers one step, measured when all its \
            notices have arrived.

            The app's members_max must be at least --users.

            Examples:
              fanfare bench joins
              fanfare bench joins --users 2000 --step 500
              fanfare bench joins --users 5000 --within 60 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("Number of users.", valueName: "count"))
    var users = 5_000

    @Option(
        help: ArgumentHelp(
            "Number of joins per row; by default 1,000, or --users if that is lower.",
            valueName: "count"
        )
    )
    var step: Int?

    @Option(
        help: ArgumentHelp(
            "Duration of all joins; by default as fast as the server accepts them.",
            valueName: "seconds"
        )
    )
    var within: Double?

    @Option(help: ArgumentHelp("Presence channel.", valueName: "name"))
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
