import ArgumentParser
import CommandSupport
import Histogram
import Net
import PusherProtocol

struct ChurnCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "churn",
        abstract: "Open connections, subscribe and close, repeatedly.",
        discussion: """
            Each cycle is a TCP connection, the TLS handshake of a wss:// URL, the WebSocket \
            upgrade, a subscription and the closing handshake. Latency is the time from when a \
            connection was due until its subscription was acknowledged.

            Examples:
              fanfare bench churn
              fanfare bench churn --cycles 50000 --concurrency 256
              fanfare bench churn --rate 500 --url wss://localhost:6002 --insecure
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of connections.")) var cycles = 10_000
    @Option(help: .count("Maximum number of open connections.")) var concurrency = 64

    @Option(help: .rate("Connections per second; by default as many as the server accepts."))
    var rate: Double?

    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    var connections: (count: Int, option: String) { (concurrency, "--concurrency") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let clients = ChurnClients(count: cycles, of: try .named(channel), generator)
        let before = generator.resourceUsage()
        let pace: Pace = rate.map { .rate($0) } ?? .window(concurrency)
        let startedAt = MonotonicTime.current
        let schedule = Schedule(pace, messageCount: cycles, start: startedAt)
        try generator.run { now throws(BenchError) in
            let closed = clients.closedCount
            guard closed < cycles else { return .done }
            generator.progress.show("Connecting", closed, of: cycles, at: now)
            if clients.openCount == 0 { generator.resetStallTimer(at: now) }
            if generator.isStalled(closed, at: now) {
                let timeout = generator.target.stallTimeout
                throw .closingStalled(closed: closed, of: clients.startedCount, timeout: timeout)
            }
            let next = try schedule.sendDue(
                missing: clients.openCount,
                while: clients.openCount < concurrency
            ) { (due) throws(BenchError) in try clients.connect(due: due) }
            return .wait(until: next)
        }
        let usage = generator.resourceUsage() - before
        let time = startedAt.duration(to: clients.lastClosedAt)
        return Findings(fault: nil) {
            Row.count("connections", "cycles", cycles)
            Row.count("closed without a close frame", "unclean_closes", clients.uncleanCount)
            Row.deflate(clients.ramp, of: generator.target)
            Row.rate("connections", "cycles", cycles, in: time)
            Row.latency("connect and subscribe", "subscribed_latency", clients.latencies)
            Row.cpu(per: "cycle", cycles, usage, of: generator.server)
            Row.memory(of: generator.server)
        }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(cycles)) connections subscribe to \(channel) and close, at most \
        \(grouped(concurrency)) at a time\(perSecond(rate))
        """
    }

    var values: [Parameter] {
        [
            .channel(channel), .count("cycles", cycles, "--cycles", max: 100_000_000),
            .count("concurrency", concurrency, "--concurrency", max: 100_000),
            .number("rate_per_s", rate, "--rate", in: sendableRates),
        ]
    }
}

private final class ChurnClients: BenchClientDelegate {
    let generator: LoadGenerator
    private let channel: ChannelName
    /// When each connection without an acknowledged subscription was due, by its index.
    private var dueTimes: [Int: MonotonicTime] = [:]
    /// Nanoseconds from when a connection was due until its subscription was acknowledged.
    private(set) var latencies = Histogram<UInt64>.latencies
    private(set) var startedCount = 0
    private(set) var closedCount = 0
    /// Connections that the server closed without answering the close frame.
    private(set) var uncleanCount = 0
    private(set) var ramp: ConnectionRamp
    private(set) var lastClosedAt = MonotonicTime.current

    init(count: Int, of channel: ChannelName, _ generator: LoadGenerator) {
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
    }

    var openCount: Int { startedCount - closedCount }

    func connect(due: MonotonicTime) throws(BenchError) {
        dueTimes[startedCount] = due
        try generator.connect(startedCount, self)
        startedCount += 1
    }

    func clientConnected(_ client: BenchClient) { client.subscribe(to: channel) }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        if let due = dueTimes.removeValue(forKey: client.index) {
            latencies.record(from: due.nanoseconds, to: now)
        }
        ramp.markConnected(client)
        client.close()
    }

    func clientClosed(_ client: BenchClient, isClean: Bool) {
        closedCount += 1
        if !isClean { uncleanCount += 1 }
        lastClosedAt = .current
    }
}
