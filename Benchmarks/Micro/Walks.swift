import ArgumentParser
import Broker
import Glibc
import PusherProtocol
import Simulation

/// What others wait for on a node with many channels, by what happens.
struct Walks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure what events wait for on a cluster's node with many channels.",
        discussion: """
            Prints, by what happens, the CPU time of the longest turn, of 99 % of the time spent in turns, and of 99 % of \
            the events of another channel: from the turn that reads a trigger to the one that sends it to a client. An \
            event that begins in a long turn counts once for each of its milliseconds. Redis is a model in the same \
            process, whose time does not count. Then prints the costs of a stream whose messages exclude their senders.
            """
    )

    @Option(help: "The number of channels, and of the clients on one channel.")
    var channels = 100_000

    func run() throws {
        print(padded("\(channels) channels", to: 36) + "   longest  turns' p99  events' p99, ms")
        try manyChannels()
        try oneChannel()
        print(padded("\(channels) messages of a stream", to: 36) + "    median, ns")
        for excludes in [false, true] {
            let cost = Measurement(try Self.ring(channels, excludes: excludes), samples: 15).median
            print(
                padded(excludes ? "each excludes its sender" : "none excludes anybody", to: 36)
                    + padded(rounded(cost), to: 14, left: true)
            )
        }
    }

    private func manyChannels() throws {
        let node = try CrowdedNode()
        try node.subscribe(to: 0..<100)
        try report("quiet: 100 channels, 20 s", of: node) { try pass(20_000, node) }
        try report("subscriptions", of: node) {
            for start in stride(from: 100, to: channels, by: 5_000) {
                try node.subscribe(to: start..<min(start + 5_000, channels))
            }
        }
        try report("nothing else, 100 s", of: node) { try pass(100_000, node) }
        try report("a scrape each turn, 1,000", of: node) { try node.scrape(1_000) }
        try report("a scrape each 100 turns, 200", of: node) { try node.scrape(200, each: 100) }
        try report("5 lists of all channels", of: node) {
            for _ in 0..<5 { try node.list() }
        }
        try report("Redis is lost, and back", of: node) {
            node.loseRedis()
            try pass(15_000, node)
        }
        try report("all clients leave, 40 s", of: node) {
            node.closeClients()
            try pass(40_000, node)
        }
    }

    private func oneChannel() throws {
        let node = try CrowdedNode(shardCount: 2)
        try report("clients wait for one channel", of: node) { try node.crowd(channels) }
        try report("they withdraw", of: node) { try node.withdraw(channels) }
        try node.crowd(channels)
        try report("they are subscribed", of: node) { try node.admit(channels) }
    }

    private func pass(_ milliseconds: Int, _ node: CrowdedNode) throws {
        for _ in 0..<milliseconds { try node.step() }
    }

    private func report(_ name: String, of node: CrowdedNode, _ body: () throws -> Void) throws {
        node.beginMeasurement()
        try body()
        let turns = node.turns.map { (milliseconds: $0, weight: max(1, $0)) }
        let figures = [
            node.turns.max(), Self.percentile99(turns), Self.percentile99(node.eventTimes),
        ]
        .map { $0.map { "\(($0 * 1_000).rounded() / 1_000)" } ?? "–" }
        print(padded(name, to: 36) + figures.map { padded($0, to: 12, left: true) }.joined())
    }

    /// The time that 99 % do not exceed; `nil` for none.
    private static func percentile99(
        _ times: [(milliseconds: Double, weight: Double)]
    ) -> Double? {
        var rest = times.reduce(0) { $0 + $1.weight } / 100
        for time in times.sorted(by: { $0.milliseconds > $1.milliseconds }) {
            rest -= time.weight
            if rest < 0 { return time.milliseconds }
        }
        return nil
    }

    /// Keeping a message in a full stream.
    private static func ring(_ count: Int, excludes: Bool) throws -> Subject {
        var settings = RecoverySettings()
        settings.isEnabled = true
        settings.rules = [
            RecoveryRule {
                $0.messagesMax = count
                $0.bytesMax = .max / 2
            }
        ]
        let app = App(
            id: AppID("1"),
            key: "key",
            secret: AppSecret("secret"),
            recovery: settings
        )
        var state = HomeShardState()
        let address = ChannelAddress(app: app.id, name: try ChannelName("c"))
        guard let stream = state.openStream(address, app, isVacant: false, at: 0) else {
            fail("the channel keeps nothing")
        }
        let message = Envelope(text: [0])
        var number: UInt64 = 0
        let keep = {
            number += 1
            let sender = SocketID(1, number)
            _ = state.keep(message, except: excludes ? sender : nil, in: stream, at: 0)
        }
        for _ in 0...count { keep() }
        return Subject(name: "ring", operation: "a message is kept", body: keep)
    }
}
