import CommandSupport
import Primitives
import PusherProtocol

/// Subscribers that read, without and with as many beside them that do not.
struct StalledPlan: BenchPlan {
    let benchmark = "stalled"
    /// Public or private, at least one.
    var channels: [ChannelName]
    /// How many connections read.
    var subscribersPerChannel: Int
    /// How many do not.
    var stalledCount: Int
    /// How long events are sent with the stalled ones there, and as long again without them.
    var duration: Duration
    /// Into how many pairs of slices that is cut: one without and one with the stalled ones.
    var roundCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How fast events are sent.
    var pace: Pace
    /// After how many bytes of data a stalled one reads again: more than the server may hold back for it.
    var backlog: Int
    /// How many of those that were closed come back a second.
    var reconnectsPerSecond: Double
    /// By how many bytes the server's resident memory may grow with the stalled ones.
    var budget: Int

    /// How often greater the latency's 99th percentile may be with the stalled ones there.
    static let ratioMax = 1.2

    var connections: (count: Int, option: String) {
        (channels.count * subscribersPerChannel + stalledCount, "--subscribers or --stalled")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        StalledRun(plan: self, generator: generator)
    }

    /// How long each slice is.
    var slice: Duration { duration / roundCount }

    /// Whether the stalled ones are there, slice by slice: in turn without and with, then with and without, so that what
    /// grows or shrinks with time is fair to both.
    var slices: [Bool] {
        (0..<roundCount).flatMap { $0.isMultiple(of: 2) ? [false, true] : [true, false] }
    }

    /// What was done, for people.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(channels.count * subscribersPerChannel)) subscribers that read (connected in \
        \(seconds(connectingTime))), without and with \(grouped(stalledCount)) that do not, \
        \(grouped(roundCount)) × \(seconds(slice)) each, events of \(grouped(dataLength)) bytes, \
        \(pace)
        """
    }

    /// What was done, for programs.
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
