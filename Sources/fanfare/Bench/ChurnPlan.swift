import PusherProtocol

/// Connections that come and go: connect, subscribe, close.
struct ChurnPlan: BenchPlan {
    let benchmark = "churn"
    /// Public or private.
    var channel: ChannelName
    /// How many connections are made.
    var cycleCount: Int
    /// How many may be open at once.
    var concurrency: Int
    /// How many are begun a second; nil for as many as the server takes.
    var rate: Double?

    var connections: (count: Int, option: String) { (concurrency, "--concurrency") }

    func begin(with generator: Generator) -> any BenchRun {
        ChurnRun(plan: self, generator: generator)
    }

    /// When each connection is to be begun.
    var pace: Pace { rate.map { .rate($0) } ?? .window(concurrency) }

    /// What was done, for people.
    var headline: String {
        let rate = self.rate.map { ", \(decimal($0, places: 1)) a second" } ?? ""
        return """
            \(grouped(cycleCount)) connections subscribe to \(channel.text) and close, at most \
            \(grouped(concurrency)) at a time\(rate)
            """
    }

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("cycles", .integer(cycleCount)),
            ("concurrency", .integer(concurrency)),
            ("rate_per_s", rate.map { .number($0, places: 3) } ?? .null),
        ]
    }
}
