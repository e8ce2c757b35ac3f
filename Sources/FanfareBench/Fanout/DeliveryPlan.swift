import CommandSupport
import PusherProtocol

/// Events to the subscribers of one or more channels: the benchmarks `fanout` and `channels`.
struct DeliveryPlan: BenchPlan {
    var benchmark: String
    /// Public or private, at least one.
    var channels: [ChannelName]
    /// The number of connections that subscribe to each channel.
    var subscribersPerChannel: Int
    /// The number of events, sent to the channels in turn.
    var messageCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How fast events are sent.
    var pace: Pace
    /// How the subscribers would get what they missed.
    var recovery = Recovery.none

    var connections: (count: Int, option: String) {
        (channels.count * subscribersPerChannel, "--subscribers")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        DeliveryRun(plan: self, generator: generator)
    }

    /// A one-line description of the run.
    func headline(connectingTime: Duration) -> String {
        let place =
            channels.count == 1
            ? "\(grouped(subscribersPerChannel)) subscribers of \(channels[0].text)"
            : "\(grouped(channels.count)) channels × \(grouped(subscribersPerChannel)) subscribers"
        return """
            \(place) (connected in \(seconds(connectingTime))), \(grouped(messageCount)) events \
            of \(grouped(dataLength)) bytes, \(pace)
            """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channels[0].text)), ("channels", .integer(channels.count)),
            ("subscribers", .integer(subscribersPerChannel)),
            ("messages", .integer(messageCount)), ("size_bytes", .integer(dataLength)),
            ("recovery", .text(recovery.rawValue)),
        ] + pace.parameters
    }
}

extension Pace: CustomStringConvertible {
    /// The pace in the headline.
    var description: String {
        switch self {
        case .window(let count): "\(grouped(count)) at a time"
        case .rate(let rate): "\(decimal(rate, places: 1)) a second"
        }
    }

    /// The pace in the JSON object: one of the two members is null.
    var parameters: [BenchReport.Member] {
        switch self {
        case .window(let count): [("window", .integer(count)), ("rate_per_s", .null)]
        case .rate(let rate): [("window", .null), ("rate_per_s", .number(rate, places: 3))]
        }
    }
}
