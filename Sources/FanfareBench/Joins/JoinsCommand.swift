import ArgumentParser
import CommandSupport
import Net
import Primitives
import PusherProtocol

struct JoinsCommand: ScenarioCommand {
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

    @Option(help: .count("Number of users."))
    var users = 5_000

    @Option(help: .count("Number of joins per row; by default 1,000, or --users if that is lower."))
    var step: Int?

    @Option(help: .seconds("Duration of all joins; by default as fast as the server accepts them."))
    var within: Double?

    @Option(help: .name("Presence channel."))
    var channel = "presence-fanfare-bench"

    func validate() throws {
        try check(users, "--users", max: 20_000)
        try checkChannel(channel, isPresence: true)
        try check(joinsPerRow, "--step", max: users)
        if let within { try check(within, "--within", in: measurableSeconds) }
    }

    /// The number of joins between two measurements.
    var joinsPerRow: Int { step ?? min(1_000, users) }

    /// Joins per second; nil for as many as the server accepts.
    var rate: Double? { within.map { Double(users) / $0 } }
    var connections: (count: Int, option: String) { (users, "--users") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let clients = JoinsClients(count: users, of: try .named(channel), generator: generator)
        try generator.connect(clients)
        let pace: Pace = rate.map { .rate($0) } ?? .window(64)
        let schedule = Schedule(pace, messageCount: users)
        let first = JoinsSample(of: clients, generator)
        var samples = [first]
        let stalled = try generator.stall { () throws(BenchError) in
            while clients.joinedCount < users {
                // A step starts when all members know each other, so that steps do not overlap.
                let count = min(clients.joinedCount + joinsPerRow, users)
                try generator.run { now in
                    generator.progress.show("Joining", clients.joinedCount, of: users, at: now)
                    if clients.startedCount == count, clients.isComplete { return .done }
                    let progress = clients.knownCount + clients.startedCount
                    if generator.isStalled(progress, at: now) { return .stalled }
                    let next = schedule.sendDue(
                        missing: clients.startedCount - clients.joinedCount,
                        while: clients.startedCount < count
                    ) { _ in clients.joinNext() }
                    if next != nil { generator.resetStallTimer(at: now) }
                    return .wait(until: next)
                }
                samples.append(JoinsSample(of: clients, generator))
            }
        }
        let time = first.time.duration(to: samples.last?.time ?? first.time)
        let fault = stalled.map { stalled in
            let missing = "\(grouped(users - clients.joinedCount)) not subscribed"
            return "\(clients.fault ?? missing): no progress for \(stalled.inSeconds) s"
        }
        return Findings(fault: fault ?? clients.fault) {
            Row.count("members", "members", clients.joinedCount)
            Row.count("notices", "notices", clients.noticeCount)
            Row.rate("joins", "joins", clients.joinedCount, in: time)
            zip(samples.dropFirst(), samples).map { $0.row(since: $1) }
            Row.deflate(clients.ramp, of: generator.target)
        }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(users)) users join \(channel) (connected in \(connectingTime))\(perSecond(rate))
        """
    }

    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel)), ("users", .integer(users)),
            ("step", .integer(joinsPerRow)), ("rate_per_s", .number(rate, places: 3)),
        ]
    }
}
