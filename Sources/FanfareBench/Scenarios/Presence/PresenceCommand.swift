import ArgumentParser
import CommandSupport
import Net
import PusherProtocol

struct PresenceCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence",
        abstract: "Make members join and leave a presence channel, and check every notice.",
        discussion: """
            Each visit is by another user. Every observer must be notified of each join and leave \
            once and in order; otherwise the exit code is 1. Subscriptions are signed with the \
            app's secret. All observers are connections of one user, as a presence channel may \
            have 100 members. Latency is the time from when a change was due until an observer was \
            notified; that of a leave contains the app's presence_grace, 3 s by default. A visitor \
            leaves when all observers have been notified of its join; with --rate, not before half \
            the interval between two visits.

            Examples:
              fanfare bench presence
              fanfare bench presence --observers 1000 --visitors 8 --visits 500
              fanfare bench presence --rate 20 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of observing connections.")) var observers = 100
    @Option(help: .count("Number of concurrent visitors.")) var visitors = 4
    @Option(help: .count("Number of visits.")) var visits = 1_000

    @Option(help: .rate("Visits per second; by default as many as the server accepts."))
    var rate: Double?

    @Option(help: .name("Presence channel.")) var channel = "presence-fanfare-bench"

    var connections: (count: Int, option: String) { (observers + visitors, "--observers") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let clients = PresenceClients(
            of: try .named(channel),
            observers: observers,
            visitors: visitors,
            generator
        )
        try generator.connect(clients)
        let pace: Pace = rate.map { .rate($0) } ?? .window(visitors)
        // Half the interval between two visits.
        let stay: Duration = rate.map { .seconds(0.5 / $0) } ?? .zero
        let schedule = Schedule(pace, messageCount: visits)
        let measured = try generator.measure { () throws(BenchError) in
            try generator.run { now in
                let ended = clients.visits.endedCount
                generator.progress.show("Visiting", ended, of: visits, at: now)
                if ended == visits { return .done }
                if clients.visits.inProgressCount == 0 { generator.resetStallTimer(at: now) }
                let progress = clients.visits.tracker.progress
                if generator.isStalled(progress, at: now) { return .stalled }
                return .wait(until: clients.step(schedule, stay: stay))
            }
        }
        let found = clients.visits
        let count = found.tracker.deliveries + found.tracker.duplicated + found.unchecked
        let time = measured.start.duration(to: clients.lastNoticeAt ?? measured.start)
        return Findings(fault: found.tracker.fault(stalled: measured.stalled)) {
            Row.deliveries(found.tracker, "notices", "notices")
            Row.count("notices to visitors", "unchecked_notices", found.unchecked)
            Row.deflate(clients.ramp, of: generator.target)
            Row.rate("visits", "visits", found.endedCount, in: time)
            Row.latency("join", "join_latency", clients.joins)
            Row.latency("leave", "leave_latency", clients.leaves)
            Row.cpu(per: "notice", count, measured.usage, of: generator.server)
            Row.traffic(per: "notice", count, measured.usage)
            Row.memory(of: generator.server)
        }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(observers)) observers of \(channel) (connected in \(connectingTime)), \
        \(grouped(visits)) visits, at most \(grouped(visitors)) at a time\(perSecond(rate))
        """
    }

    var values: [Parameter] {
        [
            .channel(channel, isPresence: true),
            .count("observers", observers, "--observers", max: 100_000),
            .count("visitors", visitors, "--visitors", max: 99),
            .count("visits", visits, "--visits", max: 10_000_000),
            .number("rate_per_s", rate, "--rate", in: sendableRates),
        ]
    }
}
