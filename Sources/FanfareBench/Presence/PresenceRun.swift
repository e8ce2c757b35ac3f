import CommandSupport
import Net
import PusherProtocol

/// Runs the presence benchmark.
final class PresenceRun: ScenarioRun {
    private let visitCount: Int
    private let pace: Pace
    /// The minimum duration of a visit: half the interval between two visits.
    private let stay: Duration
    private let generator: LoadGenerator
    private let clients: PresenceClients
    /// When each visit is due, and the CPU time and traffic before the first; nil while connecting.
    private var visiting: (Schedule, ResourceUsage)?
    /// The CPU time and traffic of all visits.
    private var usage = ResourceUsage()

    init(_ scenario: PresenceCommand, _ channel: ChannelName, _ generator: LoadGenerator) {
        visitCount = scenario.visits
        pace = scenario.rate.map { .rate($0) } ?? .window(scenario.visitors)
        stay = scenario.rate.map { .seconds(0.5 / $0) } ?? .zero
        self.generator = generator
        clients = PresenceClients(
            of: channel,
            observers: scenario.observers,
            visitors: scenario.visitors,
            generator: generator
        )
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let (schedule, before) = visiting { return visit(schedule, before, at: now) }
        guard try clients.connect(at: now) else { return .idle }
        let before = generator.resourceUsage()
        let schedule = Schedule(pace: pace, messageCount: visitCount, start: .current)
        visiting = (schedule, before)
        return .wait(.zero)
    }

    private func visit(
        _ schedule: Schedule,
        _ before: ResourceUsage,
        at now: MonotonicTime
    ) -> BenchStep {
        let visits = clients.visits
        generator.progress.show("Visiting", visits.endedCount, of: visitCount, at: now)
        if visits.endedCount == visitCount {
            usage = generator.resourceUsage() - before
            return .complete
        }
        if visits.inProgressCount == 0 { generator.resetStallTimer(at: now) }
        let arrivals =
            visits.tracker.deliveries + visits.tracker.duplicated + visits.tracker.sentCount
        if generator.isStalled(arrivals, at: now) {
            usage = generator.resourceUsage() - before
            return .stalled
        }
        let nextLeave = clients.endVisits(after: stay)
        let nextJoin = startVisits(schedule)
        return .wait(until: earlier(nextLeave, nextJoin))
    }

    /// Starts all visits that are due; returns when the next one is due.
    private func startVisits(_ schedule: Schedule) -> MonotonicTime? {
        while let visitor = clients.visits.absentVisitor {
            let step = schedule.step(
                sent: clients.visits.startedCount,
                missing: clients.visits.inProgressCount,
                now: .current
            )
            switch step {
            case .send(let due): clients.startVisit(of: visitor, due: due)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    @RowBuilder func rows() -> [Row] {
        let visits = clients.visits
        let count = visits.tracker.deliveries + visits.tracker.duplicated + visits.unchecked
        let start = visiting?.0.start ?? .current
        let time = start.duration(to: clients.lastNoticeAt ?? start)
        Row.deliveries(visits.tracker, "notices", "notices")
        Row.count("notices to visitors", "unchecked_notices", visits.unchecked)
        Row.deflate(clients.ramp, of: generator.target)
        Row.rate("visits", "visits", visits.endedCount, in: time)
        Row.latency("join", "join_latency", clients.joins)
        Row.latency("leave", "leave_latency", clients.leaves)
        Row.cpu(per: "notice", count, usage, of: generator.server)
        Row.traffic(per: "notice", count, usage)
        Row.memory(of: generator.server)
    }

    func fault(stalled: Duration?) -> String? { clients.visits.tracker.fault(stalled: stalled) }
}
