import ArgumentParser
import CommandSupport
import Net
import Primitives
import PusherProtocol

struct IdleCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Measure the memory and CPU time that idle subscribers cost.",
        discussion: """
            Memory per connection is the growth of the server's Pss (/proc/PID/smaps_rollup). Use \
            a freshly started server: memory that it reuses is not counted. At the end one event \
            is sent, which every connection must receive. The server must run on this machine; use \
            --pid if it is not found.

            Examples:
              fanfare bench idle
              fanfare bench idle --connections 10000 --seconds 30 --pid 4711
              fanfare bench idle --url wss://localhost:6002 --insecure --json -
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(name: .customLong("connections"), help: .count("Number of connections."))
    var connectionCount = 10_000

    @Option(help: .seconds("How long they are idle.")) var seconds = 10.0

    @Option(help: "How clients would get what they missed: position, token or none.")
    var recovery = Recovery.none

    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    var connections: (count: Int, option: String) { (connectionCount, "--connections") }

    /// How long the server may release memory before it is measured.
    private static let settling = Duration.seconds(1)

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        guard let server = generator.server else { throw .noServerProcess }
        guard let memoryBefore = server.memory() else {
            throw .memoryUnreadable(ids: server.ids)
        }
        let subscribers = Subscribers(
            of: [try .named(channel)],
            each: connectionCount,
            recovery: recovery,
            generator
        )
        let usageBefore = generator.resourceUsage()
        try generator.connect(subscribers)
        let connecting = generator.resourceUsage() - usageBefore
        try generator.wait(for: Self.settling)
        guard let memory = server.memory() else { throw .noServerProcess }
        let (idleSince, idleBefore) = (MonotonicTime.current, generator.resourceUsage())
        try generator.wait(for: .seconds(seconds)) { now in
            let all = max(1, Int(seconds * 1_000))
            let done = Int(idleSince.duration(to: now) / .milliseconds(1))
            generator.progress.show("Idling (ms)", min(done, all), of: all, at: now)
        }
        let idleTime = idleSince.duration(to: .current).inSeconds
        let idleRate = (generator.resourceUsage() - idleBefore).serverTime
            .map { Double($0) / 1e6 / idleTime }
        generator.progress.end()
        // One event to all connections proves that they are still open.
        let publisher = PacedPublisher(
            to: subscribers,
            pace: .window(1),
            eventCount: 1,
            dataLength: EventMarker.length
        )
        try generator.open([publisher.connection])
        let measured = try generator.measure { () throws(BenchError) in
            try generator.run { publisher.step(at: $0) }
        }
        return Findings(fault: subscribers.tracker.fault(stalled: measured.stalled)) {
            Self.growth(from: memoryBefore, to: memory, of: connectionCount)
            Row.row(
                "memory before, after",
                "\(grouped(memoryBefore / 1_024)), \(grouped(memory / 1_024)) KiB",
                ("memory_before_bytes", .integer(memoryBefore)),
                ("memory_after_bytes", .integer(memory))
            )
            Row.row(
                "idle CPU",
                idleRate.map { "\(decimal($0, places: 3)) ms/s" } ?? "unknown",
                ("idle_cpu_ms_per_s", .number(idleRate, places: 4))
            )
            Row.time("connecting", "connecting", generator.connectingTime)
            Row.deflate(subscribers.ramp, of: generator.target)
            Row.cpu(per: "connection", connectionCount, connecting, of: server)
            Row.deliveries(subscribers.tracker, "reached at the end")
        }
    }

    /// The memory per connection; no growth, and a null member, where the server reused memory.
    static func growth(from before: Int, to after: Int, of connectionCount: Int) -> Row {
        let each = Double(after - before) / Double(connectionCount)
        return .row(
            "memory per connection",
            each > 0
                ? "\(decimal(each, places: 0)) bytes"
                : "no growth: the server reused memory; restart it and measure again",
            ("memory_bytes_per_connection", .number(each > 0 ? each : nil, places: 1))
        )
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(connectionCount)) connections subscribed to \(channel) (connected in \
        \(connectingTime)), idle for \(decimal(seconds, places: 3)) s
        """
    }

    var values: [Parameter] {
        [
            .channel(channel), .count("connections", connectionCount, "--connections"),
            .number("idle_s", seconds, "--seconds"), .recovery(recovery),
        ]
    }
}
