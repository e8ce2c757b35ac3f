import CommandSupport
import Primitives
import PusherProtocol

/// Publishers that send as fast as their sockets take it, to many readers of one channel.
struct OverloadPlan: BenchPlan {
    let benchmark = "overload"
    /// Where the load goes: public or private.
    var channel: ChannelName
    /// Where the events go that the load must not delay.
    var unrelatedChannel: ChannelName
    /// The number of connections that publish.
    var publisherCount: Int
    /// The number of connections that read.
    var readerCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How long each of the three phases lasts.
    var duration: Duration
    /// After how many events the overload ends, if its time is not over before; nil for no limit.
    var eventCountMax: Int?
    /// How many events may be on their way where there is a window.
    var window: Int
    /// Events a second on the unrelated channel.
    var unrelatedRate: Double
    /// Whether a connection that is answered 503 waits as long as Retry-After says.
    var obeysRetryAfter: Bool
    /// Whether the load runs only when nobody else wants its core: those of a real one are on other machines.
    var yieldsToServer = true
    /// By how many bytes the server's resident memory may grow; nil for no limit.
    var budget: Int?

    /// How often greater the unrelated channel's 99th percentile may be beside the overload than beside idle readers.
    static let latencyRatioMax = 3.0
    /// Which part of the deliveries a second that a window allows must arrive without one.
    static let rateShareMin = 0.9

    var connections: (count: Int, option: String) {
        (readerCount + publisherCount + 2, "--subscribers or --publishers")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        OverloadRun(plan: self, generator: generator)
    }

    /// What was done, for people.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(readerCount)) subscribers (connected in \(seconds(connectingTime))), \
        \(grouped(publisherCount)) publishing connections, events of \(grouped(dataLength)) bytes: \
        \(seconds(duration)) without, with a window of \(grouped(window)), and as many as the \
        sockets take
        """
    }

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("publishers", .integer(publisherCount)),
            ("subscribers", .integer(readerCount)), ("size_bytes", .integer(dataLength)),
            ("phase_s", .number(duration.inSeconds, places: 3)),
            ("events", eventCountMax.map { .integer($0) } ?? .null), ("window", .integer(window)),
            ("unrelated_rate_per_s", .number(unrelatedRate, places: 3)),
            ("obeys_retry_after", .integer(obeysRetryAfter ? 1 : 0)),
            ("budget_bytes", budget.map { .integer($0) } ?? .null),
        ]
    }
}
