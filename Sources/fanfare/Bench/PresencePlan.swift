import PusherProtocol

/// Members who join and leave a presence channel while others watch.
struct PresencePlan: BenchPlan {
    let benchmark = "presence"
    /// A presence channel.
    var channel: ChannelName
    /// How many connections watch.
    ///
    /// They belong to one user: a channel may have 100 members.
    var observerCount: Int
    /// How many connections come and go at once, each visit as another user.
    var visitorCount: Int
    /// How many visits there are.
    var visitCount: Int
    /// How many visits begin a second; nil for as many as the server takes.
    var rate: Double?

    var connections: (count: Int, option: String) { (observerCount + visitorCount, "--observers") }

    func begin(with generator: Generator) -> any BenchRun {
        PresenceRun(plan: self, generator: generator)
    }

    /// When each visit is to begin.
    var pace: Pace { rate.map { .rate($0) } ?? .window(visitorCount) }

    /// What was done, for people.
    func headline(connectingTime: Duration) -> String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(observerCount)) observers of \(channel.text) (connected in \
            \(seconds(connectingTime))), \(grouped(visitCount)) visits, at most \
            \(grouped(visitorCount)) at a time\(rate)
            """
    }

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("observers", .integer(observerCount)),
            ("visitors", .integer(visitorCount)), ("visits", .integer(visitCount)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
