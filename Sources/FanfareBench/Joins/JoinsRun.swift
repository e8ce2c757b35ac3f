import CommandSupport
import Net
import Primitives

/// Runs the joins benchmark, one step per turn of the loop.
final class JoinsRun: BenchRun {
    private let plan: JoinsPlan
    private let generator: LoadGenerator
    private let clients: JoinsClients
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var samples: [JoinsSample] = []

    private enum Phase {
        case connecting
        case joining(Schedule, since: JoinsSample)
        /// All users know each other; later notices are duplicates.
        case awaitingDuplicates(until: MonotonicTime)
    }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: JoinsPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        clients = JoinsClients(plan: plan, generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = clients.failure { throw failure }
        switch phase {
        case .connecting:
            guard try clients.connect(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            let schedule = Schedule(
                pace: plan.pace,
                messageCount: plan.userCount,
                start: .current
            )
            phase = .joining(schedule, since: takeSample())
            return .wait(.zero)
        case .joining(let schedule, let last):
            return join(schedule, since: last, at: now)
        case .awaitingDuplicates(let end):
            guard now >= end else { return .wait(from: now, until: end) }
            return .finished(report(stalled: nil))
        }
    }

    private func join(_ schedule: Schedule, since last: JoinsSample, at now: MonotonicTime)
        -> BenchStep
    {
        generator.progress.show("Joining", clients.joinedCount, of: plan.userCount, at: now)
        // The next step starts when all members of this one know each other, so that steps do not overlap.
        let nextSampleAt = min(last.memberCount + plan.stepCount, plan.userCount)
        if clients.startedCount == nextSampleAt, clients.isComplete {
            let reached = takeSample()
            samples.append(reached.since(last))
            guard nextSampleAt < plan.userCount else {
                generator.progress.end()
                phase = .awaitingDuplicates(until: now.advanced(by: BenchStep.duplicateWait))
                return .idle
            }
            phase = .joining(schedule, since: reached)
            return .wait(.zero)
        }
        if generator.isStalled(clients.knownCount + clients.startedCount, at: now) {
            return .finished(report(stalled: generator.target.stallTimeout))
        }
        while clients.startedCount < nextSampleAt {
            let step = schedule.step(
                sent: clients.startedCount,
                missing: clients.startedCount - clients.joinedCount,
                now: .current
            )
            switch step {
            case .send: clients.joinNext()
            case .wait(let due):
                generator.resetStallTimer(at: now)
                return .wait(from: .current, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func takeSample() -> JoinsSample {
        JoinsSample(
            memberCount: clients.joinedCount,
            noticeCount: clients.noticeCount,
            time: beganAt.duration(to: .current),
            usage: generator.resourceUsage(),
            memory: generator.server?.memory()
        )
    }

    private func report(stalled: Duration?) -> BenchReport {
        var fault = clients.fault
        if let stalled {
            let what = fault ?? "\(grouped(plan.userCount - clients.joinedCount)) not subscribed"
            fault = "\(what): no progress for \(stalled.inSeconds) s"
        }
        let time = samples.reduce(Duration.zero) { $0 + $1.time }
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                [
                    .count("members", "members", clients.joinedCount),
                    .count("notices", "notices", clients.noticeCount),
                    .rate("joins", "joins", clients.joinedCount, in: time),
                ], JoinsSample.rows(samples),
                BenchReport.Row.deflate(clients.ramp, of: generator.target),
            ].flatMap { $0 },
            fault: fault
        )
    }
}
