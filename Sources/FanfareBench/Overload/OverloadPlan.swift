import CommandSupport
import Primitives
import PusherProtocol

/// Publishers that send as fast as their sockets allow, to many readers of one channel.
struct OverloadPlan: BenchPlan {
    let benchmark = "overload"
    /// The channel of the load, public or private.
    var channel: ChannelName
    /// The channel whose latency the load must not affect.
    var unrelatedChannel: ChannelName
    /// The number of connections that publish.
    var publisherCount: Int
    /// The number of connections that read.
    var readerCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How long each of the three phases lasts.
    var duration: Duration
    /// The number of events after which the overload ends; nil for no limit but its duration.
    var eventCountMax: Int?
    /// The number of events in flight in the phase with a window.
    var window: Int
    /// Events a second on the unrelated channel.
    var unrelatedRate: Double
    /// Whether a connection waits for the time in Retry-After.
    var obeysRetryAfter: Bool
    /// Whether the load runs at the lowest priority: real publishers and readers run on other machines.
    var yieldsToServer = true
    /// The allowed growth of the server's resident memory in bytes; nil for no limit.
    var budget: Int?

    /// The allowed ratio of the unrelated channel's p99 latency during the overload to that in the quiet phase.
    static let latencyRatioMax = 3.0
    /// The required ratio of the deliveries per second without a window to those with one.
    static let rateShareMin = 0.9

    var connections: (count: Int, option: String) {
        (readerCount + publisherCount + 2, "--subscribers or --publishers")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        OverloadRun(plan: self, generator: generator)
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(readerCount)) subscribers (connected in \(seconds(connectingTime))), \
        \(grouped(publisherCount)) publishing connections, events of \(grouped(dataLength)) bytes: \
        \(seconds(duration)) without, with a window of \(grouped(window)), and as many as the \
        sockets take
        """
    }

    /// The plan's values, for the JSON object.
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
