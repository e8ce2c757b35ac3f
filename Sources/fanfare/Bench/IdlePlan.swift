import Primitives
import PusherProtocol

/// Connections that are subscribed and do nothing: what they cost.
struct IdlePlan: BenchPlan {
    let benchmark = "idle"
    /// Public or private.
    var channel: ChannelName
    /// How many connections there are.
    var connectionCount: Int
    /// How long they do nothing.
    var duration: Duration

    var connections: (count: Int, option: String) { (connectionCount, "--connections") }

    func begin(with generator: Generator) throws(BenchError) -> any BenchRun {
        guard let server = generator.server else { throw .noServerProcess }
        guard let memory = server.memory() else { throw .memoryUnreadable(ids: server.ids) }
        return IdleRun(plan: self, generator: generator, memoryBefore: memory)
    }

    /// What was done, for people.
    func headline(connectingTime: Duration) -> String {
        """
        \(grouped(connectionCount)) connections subscribed to \(channel.text) (connected in \
        \(seconds(connectingTime))), idle for \(seconds(duration))
        """
    }

    /// What was done, for programs.
    var parameters: [BenchReport.Member] {
        [
            ("channel", .text(channel.text)), ("connections", .integer(connectionCount)),
            ("idle_s", .number(duration.inSeconds, places: 3)),
        ]
    }
}
