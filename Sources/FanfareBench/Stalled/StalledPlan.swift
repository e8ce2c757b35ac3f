import CommandSupport
import Primitives
import PusherProtocol

/// Subscribers that read, without and with stalled subscribers beside them.
struct StalledPlan: BenchPlan {
    let benchmark = "stalled"
    /// Public or private, at least one.
    var channels: [ChannelName]
    /// The number of connections that read, per channel.
    var subscribersPerChannel: Int
    /// The number of connections that do not read.
    var stalledCount: Int
    /// How long events are sent with the stalled readers, and as long again without them.
    var duration: Duration
    /// The number of pairs of slices: one without and one with the stalled readers.
    var roundCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How fast events are sent.
    var pace: Pace
    /// The bytes of data after which a stalled reader resumes reading: more than the server may queue for it.
    var backlog: Int
    /// How many closed stalled readers reconnect per second.
    var reconnectsPerSecond: Double
    /// The allowed growth of the server's resident memory in bytes.
    var budget: Int

    /// The allowed ratio of the p99 latency with stalled readers to that without.
    static let ratioMax = 1.2

    var connections: (count: Int, option: String) {
        (channels.count * subscribersPerChannel + stalledCount, "--subscribers or --stalled")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        StalledRun(plan: self, generator: generator)
    }

    /// The duration of a slice.
    var slice: Duration { duration / roundCount }

    /// Whether each slice has stalled readers.
    ///
    /// The order alternates from pair to pair, so that a drift over time affects both kinds alike.
    var slices: [Bool] {
        (0..<roundCount).flatMap { $0.isMultiple(of: 2) ? [false, true] : [true, false] }
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(channels.count * subscribersPerChannel)) subscribers that read (connected in \
        \(seconds(connectingTime))), without and with \(grouped(stalledCount)) that do not, \
        \(grouped(roundCount)) × \(seconds(slice)) each, events of \(grouped(dataLength)) bytes, \
        \(pace)
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channels[0].text)), ("channels", .integer(channels.count)),
            ("subscribers", .integer(channels.count * subscribersPerChannel)),
            ("stalled", .integer(stalledCount)),
            ("slice_s", .number(slice.inSeconds, places: 3)), ("rounds", .integer(roundCount)),
            ("size_bytes", .integer(dataLength)), ("backlog_bytes", .integer(backlog)),
            ("reconnects_per_s", .number(reconnectsPerSecond, places: 3)),
            ("budget_bytes", .integer(budget)),
        ] + pace.parameters
    }
}
