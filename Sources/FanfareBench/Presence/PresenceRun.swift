import CommandSupport
import Net

/// A presence benchmark from its first connection to the report; a step a turn of the loop.
final class PresenceRun: BenchRun {
    private let plan: PresencePlan
    private let generator: Generator
    private let crowd: PresenceCrowd
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero

    private enum Phase {
        case connecting
        case visiting(Schedule, before: Meters)
        /// Everybody has gone; what comes now comes twice.
        case listening(Schedule, Meters, until: MonotonicTime)
    }

    /// A run that has yet to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    init(plan: PresencePlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        crowd = PresenceCrowd(plan: plan, generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = crowd.failure { throw failure }
        switch phase {
        case .connecting:
            guard try crowd.assemble(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            let before = generator.meters()
            let schedule = Schedule(
                pace: plan.pace,
                messageCount: plan.visitCount,
                start: .current
            )
            phase = .visiting(schedule, before: before)
            return .wait(.zero)
        case .visiting(let schedule, let before):
            return visit(schedule, before: before, at: now)
        case .listening(let schedule, let meters, let end):
            guard now >= end else { return .wait(from: now, until: end) }
            return .finished(report(schedule, meters, stalled: nil))
        }
    }

    private func visit(
        _ schedule: Schedule,
        before: Meters,
        at now: MonotonicTime
    ) -> BenchStep {
        let visits = crowd.visits
        generator.progress.show("Visiting", visits.endedCount, of: plan.visitCount, at: now)
        if visits.endedCount == plan.visitCount {
            let end = now.advanced(by: BenchStep.aftermath)
            phase = .listening(schedule, generator.meters() - before, until: end)
            return .idle
        }
        if visits.underWayCount == 0 { generator.renewPatience(at: now) }
        let arrivals = visits.tally.deliveries + visits.tally.duplicated + visits.tally.sentCount
        if generator.isStalled(arrivals, at: now) {
            let meters = generator.meters() - before
            return .finished(report(schedule, meters, stalled: generator.subject.patience))
        }
        let nextLeave = crowd.sendAway(after: stay)
        let nextJoin = invite(schedule)
        guard let next = [nextLeave, nextJoin].compactMap({ $0 }).min() else { return .idle }
        return .wait(from: .current, until: next)
    }

    /// How long after its joining was due a visitor is to leave: half the time between two visits.
    private var stay: Duration { plan.rate.map { .seconds(0.5 / $0) } ?? .zero }

    /// Begins all visits that are due, and says when the next one is.
    private func invite(_ schedule: Schedule) -> MonotonicTime? {
        while let visitor = crowd.visits.away {
            let step = schedule.step(
                sent: crowd.visits.begunCount,
                missing: crowd.visits.underWayCount,
                now: .current
            )
            switch step {
            case .send(let due): crowd.invite(visitor, due: due)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    private func report(
        _ schedule: Schedule,
        _ meters: Meters,
        stalled: Duration?
    ) -> BenchReport {
        let tally = crowd.visits.tally
        let count = tally.deliveries + tally.duplicated + crowd.visits.unchecked
        let time = schedule.start.duration(to: crowd.lastNoticeAt ?? schedule.start)
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                BenchReport.Row.tally(tally, of: "notices", "notices"),
                [.count("notices to visitors", "unchecked_notices", crowd.visits.unchecked)],
                BenchReport.Row.deflate(crowd.admission, of: generator.subject),
                [.rate("visits", "visits", crowd.visits.endedCount, in: time)],
                BenchReport.Row.latency("join", "join_latency", LatencyFigures(crowd.joins)),
                BenchReport.Row.latency("leave", "leave_latency", LatencyFigures(crowd.leaves)),
                BenchReport.Row.cpu(per: "notice", count, meters, of: generator.server),
                BenchReport.Row.traffic(per: "notice", count, meters),
                BenchReport.Row.memory(of: generator.server),
            ].flatMap { $0 },
            fault: tally.fault(stalled: stalled)
        )
    }
}
