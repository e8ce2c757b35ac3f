import CommandSupport
import PusherProtocol

/// Events to the subscribers of one or many channels: what `fanout` and `channels` do.
struct DeliveryPlan: BenchPlan {
    var benchmark: String
    /// Public or private, at least one.
    var channels: [ChannelName]
    /// How many connections subscribe to each.
    var subscribersPerChannel: Int
    /// How many events are sent, to one channel after another.
    var messageCount: Int
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How fast they are sent.
    var pace: Pace

    var connections: (count: Int, option: String) {
        (channels.count * subscribersPerChannel, "--subscribers")
    }

    func begin(with generator: LoadGenerator) -> any BenchRun {
        DeliveryRun(plan: self, generator: generator)
    }

    /// What was done, for people.
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

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channels[0].text)), ("channels", .integer(channels.count)),
            ("subscribers", .integer(subscribersPerChannel)),
            ("messages", .integer(messageCount)), ("size_bytes", .integer(dataLength)),
        ] + pace.parameters
    }
}

extension Pace: CustomStringConvertible {
    /// For people, in a list.
    var description: String {
        switch self {
        case .window(let count): "\(grouped(count)) at a time"
        case .rate(let rate): "\(decimal(rate, places: 1)) a second"
        }
    }

    /// For programs: one of the two is null.
    var parameters: [BenchReport.Member] {
        switch self {
        case .window(let count): [("window", .integer(count)), ("rate_per_s", .null)]
        case .rate(let rate): [("window", .null), ("rate_per_s", .number(rate, places: 3))]
        }
    }
}
