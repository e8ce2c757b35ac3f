import ArgumentParser
import CommandSupport
import HTTPClient
import Histogram
import Net
import Primitives
import PusherProtocol

struct OfflineCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "offline",
        abstract: "Take all clients offline while events flow, and check that each gets all.",
        discussion: """
            All clients lose their connections at once, stay away and connect again together, as \
            behind a failure of the network. Events flow all the time; each client must receive \
            each one once. The latency of an event that a client missed counts from when it was \
            due, so it includes the time that the client was away.

            The exit code is 1 if:
              - a client lost an event, or was told of a gap,
              - a client with a position received an event twice,
              - the p99 latency of missed events is more than --within.

            With --recovery none the clients are stock clients without a token, and lose what they \
            missed.

            Examples:
              fanfare bench offline
              fanfare bench offline --recovery token
              fanfare bench offline --rate 50 --only-while-away
              fanfare bench offline --return-url ws://127.0.0.1:6002
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of clients.")) var clients = 10_000
    @Option(help: .seconds("Time without connections.")) var away = 2.0

    @Option(
        help: .url("Where the clients come back, if that is another node of a cluster than --url.")
    )
    var returnURL: String?

    @Option(help: .rate("Events per second.")) var rate = 10.0
    @Flag(help: "Send events only while the clients are away.") var onlyWhileAway = false
    @Option(help: .bytes("Length of each event's data.")) var size = 64

    @Option(help: "How clients get what they missed: position, token or none.")
    var recovery = Recovery.position

    @Option(help: .seconds("Maximum p99 latency of missed events.")) var within = 3.0
    @Option(help: .name("Channel, public or private.")) var channel = "fanfare-bench"

    func validate() throws {
        try checkValues()
        if let returnURL { _ = try options.address(of: returnURL, "--return-url") }
    }

    var connections: (count: Int, option: String) { (clients, "--clients") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let address = try returnURL.flatMap { ServerURL(webSocketURL: $0) }?.addresses().first
        let run = OfflineRun(self, try .named(channel), generator)
        generator.onTurn { now throws(BenchError) in
            earlier(try run.clients.connectDue(at: now), run.publish())
        }
        let measured = try generator.measure { () throws(BenchError) in
            try run.leaveAndReturn(to: address)
        }
        return Findings(fault: run.fault(stalled: measured.stalled), rows: run.rows)
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(clients)) clients of \(channel) are away for \(decimal(away, places: 3)) s, with \
        \(decimal(rate, places: 1)) events a second of \(grouped(size)) bytes; recovery by \
        \(recovery.rawValue)
        """
    }

    var values: [Parameter] {
        [
            .channel(channel), .count("clients", clients, "--clients", max: 100_000),
            .number("away_s", away, "--away"),
            .number("rate_per_s", rate, "--rate", in: sendableRates),
            .value("only_while_away", .integer(onlyWhileAway ? 1 : 0)), .size(size),
            .recovery(recovery), .number("within_s", within, "--within"),
        ]
    }
}

final class OfflineRun {
    let clients: ReturningClients
    private let scenario: OfflineCommand
    private let generator: LoadGenerator
    private let publisher: EventPublisher
    /// Nil while nothing is sent.
    private var schedule: Schedule?
    private var sentCount = 0
    /// The events that were due while the clients were away.
    private var missed: Range<Int> = 0..<0
    private var missedLatencies = Histogram<UInt64>.latencies
    private var liveLatencies = Histogram<UInt64>.latencies
    private var usage = ResourceUsage()
    /// From when the clients connected again until all were subscribed, and had what they missed.
    private var subscribedTime: Duration?
    private var recoveredTime: Duration?

    private static let margin = Duration.seconds(1)

    init(_ scenario: OfflineCommand, _ channel: ChannelName, _ generator: LoadGenerator) {
        self.scenario = scenario
        self.generator = generator
        clients = ReturningClients(
            count: scenario.clients,
            channel: channel,
            recovery: scenario.recovery,
            generator
        )
        publisher = EventPublisher(
            to: [channel],
            run: clients.run,
            dataLength: scenario.size,
            policy: .endRun,
            generator
        )
        clients.onDelivery = { [unowned self] number, due, now in
            if missed.contains(Int(number)) {
                missedLatencies.record(from: due, to: now)
            } else {
                liveLatencies.record(from: due, to: now)
            }
        }
    }

    /// Connects the clients, resets them, and connects them again, to another node if an address is given.
    func leaveAndReturn(to address: SocketAddress?) throws(BenchError) {
        clients.connectAll()
        try awaitUntil { now in
            show("Connecting", at: now)
            return clients.areSubscribed
        }
        generator.progress.end()
        try generator.open([publisher])
        let events = Schedule(.rate(scenario.rate))
        if !scenario.onlyWhileAway { schedule = events }
        try generator.wait(for: Self.margin)

        schedule = events
        clients.resetAll()
        // Events on their way to the clients are missed too.
        missed = clients.firstMissing..<Int.max
        try generator.wait(for: .seconds(scenario.away))

        if scenario.onlyWhileAway { schedule = nil }
        missed = missed.lowerBound..<sentCount
        if let address { generator.address = address }
        clients.connectAll()
        let (start, before) = (MonotonicTime.current, generator.resourceUsage())
        try awaitUntil { now in
            show("Returning", at: now)
            guard clients.areSubscribed else { return false }
            subscribedTime = subscribedTime ?? start.duration(to: now)
            return hasRecovered(upTo: missed.upperBound)
        }
        recoveredTime = start.duration(to: .current)
        usage = generator.resourceUsage() - before
        generator.progress.end()

        if !scenario.onlyWhileAway { try generator.wait(for: Self.margin) }
        schedule = nil
        try awaitUntil { _ in publisher.unansweredCount == 0 && hasRecovered(upTo: sentCount) }
    }

    /// Waits until a condition holds; there must be progress meanwhile.
    private func awaitUntil(_ condition: (MonotonicTime) -> Bool) throws(BenchError) {
        try generator.run { now in
            if condition(now) { return .done }
            let progress = clients.received.deliveries + clients.subscribedCount + sentCount
            return generator.isStalled(progress, at: now) ? .stalled : .idle
        }
    }

    private func show(_ label: String, at now: MonotonicTime) {
        generator.progress.show(label, clients.subscribedCount, of: clients.count, at: now)
    }

    /// Whether each client has the events before a number, as far as it can get them.
    private func hasRecovered(upTo count: Int) -> Bool {
        scenario.recovery == .none || clients.haveReceived(upTo: count)
    }

    func publish() -> MonotonicTime? {
        schedule?.sendDue(while: publisher.canSend) { due in
            publisher.trigger(TriggeredEvent(number: UInt32(sentCount), due: due))
            sentCount += 1
        } ?? nil
    }

    private var expected: Int { sentCount * clients.count }

    @RowBuilder func rows() -> [Row] {
        let missedCount = missed.clamped(to: 0..<sentCount).count * clients.count
        Row.deliveries(clients.deliveredCount, of: expected)
        Row.count("lost", "lost", expected - clients.deliveredCount)
        Row.count("repeated", "repeated", clients.received.misplaced)
        Row.count("gaps told", "gaps", clients.gapCount)
        Row.count("missed while away", "missed", missedCount)
        if let subscribedTime { Row.time("all subscribed after", "subscribed", subscribedTime) }
        if let recoveredTime { Row.time("all recovered after", "recovered", recoveredTime) }
        if missedLatencies.totalCount > 0 {
            Row.latency("latency of missed events", "missed_latency", missedLatencies)
        }
        if liveLatencies.totalCount > 0 {
            Row.latency("latency of other events", "latency", liveLatencies)
        }
        Row.cpu(per: "return", clients.count, usage, of: generator.server)
        Row.memory(of: generator.server)
    }

    func fault(stalled: Duration?) -> String? {
        let (lost, repeated) = (expected - clients.deliveredCount, clients.received.misplaced)
        let p99 = Duration.nanoseconds(Int64(clamping: LatencyFigures(missedLatencies).p99))
        return joined([
            stalled.map { "no progress for \($0.inSeconds) s" },
            counted(lost, "lost"),
            counted(clients.gapCount, "gaps told"),
            scenario.recovery == .position ? counted(repeated, "repeated") : nil,
            p99 > .seconds(scenario.within)
                ? "p99 of missed events is \(seconds(p99)), more than --within" : nil,
        ])
    }
}
