import PusherProtocol

/// Users who join one presence channel, and stay.
struct JoinsPlan: BenchPlan {
    let benchmark = "joins"
    /// A presence channel.
    var channel: ChannelName
    /// How many users join, each with one connection.
    var userCount: Int
    /// After how many joins there are figures.
    var stepCount: Int
    /// How many join a second; nil for as many as the server takes.
    var rate: Double?

    var connections: (count: Int, option: String) { (userCount, "--users") }

    func begin(with generator: Generator) -> any BenchRun {
        JoinsRun(plan: self, generator: generator)
    }

    /// When each join is to begin.
    var pace: Pace { rate.map { .rate($0) } ?? .window(64) }

    /// What was done, for people.
    func headline(connectingTime: Duration) -> String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(userCount)) users join \(channel.text) (connected in \
            \(seconds(connectingTime)))\(rate)
            """
    }

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("users", .integer(userCount)),
            ("step", .integer(stepCount)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
