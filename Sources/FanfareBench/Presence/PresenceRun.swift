import CommandSupport
import Net

/// Runs the presence benchmark, one step per turn of the loop.
final class PresenceRun: BenchRun {
    private let plan: PresencePlan
    private let generator: LoadGenerator
    private let clients: PresenceClients
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero

    private enum Phase {
        case connecting
        case visiting(Schedule, before: ResourceUsage)
        /// All visits have ended; later notices are duplicates.
        case awaitingDuplicates(Schedule, ResourceUsage, until: MonotonicTime)
    }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: PresencePlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        clients = PresenceClients(plan: plan, generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = clients.failure { throw failure }
        switch phase {
        case .connecting:
            guard try clients.connect(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            let before = generator.resourceUsage()
            let schedule = Schedule(
                pace: plan.pace,
                messageCount: plan.visitCount,
                start: .current
            )
            phase = .visiting(schedule, before: before)
            return .wait(.zero)
        case .visiting(let schedule, let before):
            return visit(schedule, before: before, at: now)
        case .awaitingDuplicates(let schedule, let usage, let end):
            guard now >= end else { return .wait(from: now, until: end) }
            return .finished(report(schedule, usage, stalled: nil))
        }
    }

    private func visit(
        _ schedule: Schedule,
        before: ResourceUsage,
        at now: MonotonicTime
    ) -> BenchStep {
        let visits = clients.visits
        generator.progress.show("Visiting", visits.endedCount, of: plan.visitCount, at: now)
        if visits.endedCount == plan.visitCount {
            let end = now.advanced(by: BenchStep.duplicateWait)
            phase = .awaitingDuplicates(schedule, generator.resourceUsage() - before, until: end)
            return .idle
        }
        if visits.inProgressCount == 0 { generator.resetStallTimer(at: now) }
        let arrivals =
            visits.tracker.deliveries + visits.tracker.duplicated + visits.tracker.sentCount
        if generator.isStalled(arrivals, at: now) {
            let usage = generator.resourceUsage() - before
            return .finished(report(schedule, usage, stalled: generator.target.stallTimeout))
        }
        let nextLeave = clients.endVisits(after: stay)
        let nextJoin = startVisits(schedule)
        guard let next = [nextLeave, nextJoin].compactMap({ $0 }).min() else { return .idle }
        return .wait(from: .current, until: next)
    }

    /// The minimum duration of a visit: half the interval between two visits.
    private var stay: Duration { plan.rate.map { .seconds(0.5 / $0) } ?? .zero }

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

    private func report(
        _ schedule: Schedule,
        _ usage: ResourceUsage,
        stalled: Duration?
    ) -> BenchReport {
        let tracker = clients.visits.tracker
        let count = tracker.deliveries + tracker.duplicated + clients.visits.unchecked
        let time = schedule.start.duration(to: clients.lastNoticeAt ?? schedule.start)
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                BenchReport.Row.deliveries(tracker, of: "notices", "notices"),
                [.count("notices to visitors", "unchecked_notices", clients.visits.unchecked)],
                BenchReport.Row.deflate(clients.ramp, of: generator.target),
                [.rate("visits", "visits", clients.visits.endedCount, in: time)],
                BenchReport.Row.latency("join", "join_latency", LatencyFigures(clients.joins)),
                BenchReport.Row.latency("leave", "leave_latency", LatencyFigures(clients.leaves)),
                BenchReport.Row.cpu(per: "notice", count, usage, of: generator.server),
                BenchReport.Row.traffic(per: "notice", count, usage),
                BenchReport.Row.memory(of: generator.server),
            ].flatMap { $0 },
            fault: tracker.fault(stalled: stalled)
        )
    }
}
