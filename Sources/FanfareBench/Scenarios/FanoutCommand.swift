import ArgumentParser
import CommandSupport
import Net
import PusherProtocol

struct FanoutCommand: DeliveryScenario {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Send events to many subscribers of one channel and check every delivery.",
        discussion: """
            Every subscriber must receive every event once and in order; otherwise the exit code \
            is 1. Events are triggered over the signed HTTP API. With --rate, latency counts from \
            the time at which an event was due, whether or not the server kept up.

            Examples:
              fanfare bench fanout
              fanfare bench fanout --subscribers 1000 --messages 200 --rate 20
              fanfare bench fanout --subscribers 1000 --size 1024 --deflate
              fanfare bench fanout --url wss://localhost:6002 --trust cert.pem --json -
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of subscribers.")) var subscribers = 10_000
    @Option(help: .count("Number of events.")) var messages = 100
    @Option(help: .bytes("Length of each event's data.")) var size = 64
    @OptionGroup var pacing: PaceOptions

    @Option(help: "How subscribers would get what they missed: position, token or none.")
    var recovery = Recovery.none

    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    var channels: Int { 1 }
    var channelNames: [String] { [channel] }
}

struct ChannelsCommand: DeliveryScenario {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Send events to many channels with few subscribers and check every delivery.",
        discussion: """
            Events are sent to the channels in turn. Every subscriber must receive the events of \
            its channel once and in order, and no others. This measures the cost of an event (HTTP \
            request, signature, channel) rather than of a delivery.

            Examples:
              fanfare bench channels
              fanfare bench channels --channels 5000 --subscribers 2 --messages 50000
              fanfare bench channels --rate 2000 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of channels.")) var channels = 500
    @Option(help: .count("Number of subscribers of each channel.")) var subscribers = 4
    @Option(help: .count("Total number of events.")) var messages = 20_000
    @Option(help: .bytes("Length of each event's data.")) var size = 64
    @OptionGroup var pacing: PaceOptions

    @Option(help: .name("Prefix of the channels' names, public or private; a number is appended."))
    var channel = "fanfare-bench"

    @Option(help: "How subscribers would get what they missed: position, token or none.")
    var recovery = Recovery.none

    var channelNames: [String] { ChannelName.texts(of: channels, prefix: channel) }
}

/// Events to the subscribers of one or more channels: the benchmarks `fanout` and `channels`.
protocol DeliveryScenario: ScenarioCommand {
    /// A name, public or private, or the prefix of the names.
    var channel: String { get }
    var channels: Int { get }
    var channelNames: [String] { get }
    var subscribers: Int { get }
    /// The number of events, sent to the channels in turn.
    var messages: Int { get }
    /// The length of each event's data, in bytes.
    var size: Int { get }
    var pacing: PaceOptions { get }
    var recovery: Recovery { get }
}

extension DeliveryScenario {
    var connections: (count: Int, option: String) {
        (channels * subscribers, "--subscribers")
    }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let audience = Subscribers(
            of: try ChannelName.named(channelNames),
            each: subscribers,
            recovery: recovery,
            generator
        )
        let publisher = PacedPublisher(
            to: audience,
            pace: pacing.pace,
            eventCount: messages,
            inFlightMax: nil,
            dataLength: size
        )
        try generator.connect(audience)
        try generator.open([publisher.connection])
        let measured = try generator.measure { () throws(BenchError) in
            let all = messages * subscribers
            try generator.run { now in
                generator.progress.show("Delivering", audience.tracker.deliveries, of: all, at: now)
                return publisher.step(at: now)
            }
        }
        let count = audience.tracker.deliveries
        let time = measured.start.duration(to: audience.lastDeliveryAt ?? measured.start)
        return Findings(fault: audience.tracker.fault(stalled: measured.stalled)) {
            Row.deliveries(audience.tracker)
            Row.deflate(audience.ramp, of: generator.target)
            Row.rate("deliveries", "deliveries", count, in: time)
            Row.latency("latency", "latency", audience.latencies)
            Row.cpu(per: "delivery", count, measured.usage, of: generator.server)
            Row.traffic(per: "delivery", count, measured.usage)
            Row.memory(of: generator.server)
        }
    }

    func headline(connectingTime: String) -> String {
        let names = channelNames
        let place =
            names.count == 1
            ? "\(grouped(subscribers)) subscribers of \(names[0])"
            : "\(grouped(names.count)) channels × \(grouped(subscribers)) subscribers"
        return """
            \(place) (connected in \(connectingTime)), \(grouped(messages)) events \
            of \(grouped(size)) bytes, \(pacing.pace)
            """
    }

    var values: [Parameter] {
        [
            .channel(channel, first: channelNames.first, last: channelNames.last),
            .count("channels", channels, "--channels", max: 100_000),
            .count("subscribers", subscribers, "--subscribers", max: 1_000_000 / max(channels, 1)),
            .count("messages", messages, "--messages", max: 100_000_000), .size(size),
            .recovery(recovery),
        ] + pacing.parameters
    }
}
