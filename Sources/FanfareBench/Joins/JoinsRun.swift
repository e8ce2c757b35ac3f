import CommandSupport
import Net
import Primitives

/// A benchmark of joins from its first connection to the report; a step a turn of the loop.
final class JoinsRun: BenchRun {
    private let plan: JoinsPlan
    private let generator: Generator
    private let crowd: JoinsCrowd
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private var connectingTime = Duration.zero
    private var marks: [JoinsMark] = []

    private enum Phase {
        case connecting
        case joining(Schedule, since: JoinsMark)
        /// Everybody knows everybody; what comes now comes twice.
        case listening(until: MonotonicTime)
    }

    /// A run that has yet to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    init(plan: JoinsPlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        crowd = JoinsCrowd(plan: plan, generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = crowd.failure { throw failure }
        switch phase {
        case .connecting:
            guard try crowd.assemble(at: now) else { return .idle }
            connectingTime = beganAt.duration(to: now)
            let schedule = Schedule(
                pace: plan.pace,
                messageCount: plan.userCount,
                start: .current
            )
            phase = .joining(schedule, since: mark())
            return .wait(.zero)
        case .joining(let schedule, let last):
            return join(schedule, since: last, at: now)
        case .listening(let end):
            guard now >= end else { return .wait(from: now, until: end) }
            return .finished(report(stalled: nil))
        }
    }

    private func join(_ schedule: Schedule, since last: JoinsMark, at now: MonotonicTime)
        -> BenchStep
    {
        generator.progress.show("Joining", crowd.joinedCount, of: plan.userCount, at: now)
        // Who joins waits until all before the mark know each other: the steps do not run into one another.
        let nextMark = min(last.memberCount + plan.stepCount, plan.userCount)
        if crowd.begunCount == nextMark, crowd.isSettled {
            let reached = mark()
            marks.append(reached.since(last))
            guard nextMark < plan.userCount else {
                generator.progress.end()
                phase = .listening(until: now.advanced(by: BenchStep.aftermath))
                return .idle
            }
            phase = .joining(schedule, since: reached)
            return .wait(.zero)
        }
        if generator.isStalled(crowd.knownCount + crowd.begunCount, at: now) {
            return .finished(report(stalled: generator.subject.patience))
        }
        while crowd.begunCount < nextMark {
            let step = schedule.step(
                sent: crowd.begunCount,
                missing: crowd.begunCount - crowd.joinedCount,
                now: .current
            )
            switch step {
            case .send: crowd.inviteNext()
            case .wait(let due):
                generator.renewPatience(at: now)
                return .wait(from: .current, until: due)
            case .waitForDeliveries, .finished: return .idle
            }
        }
        return .idle
    }

    private func mark() -> JoinsMark {
        JoinsMark(
            memberCount: crowd.joinedCount,
            noticeCount: crowd.noticeCount,
            time: beganAt.duration(to: .current),
            meters: generator.meters(),
            memory: generator.server?.memory()
        )
    }

    private func report(stalled: Duration?) -> BenchReport {
        var fault = crowd.fault
        if let stalled {
            let what = fault ?? "\(grouped(plan.userCount - crowd.joinedCount)) not let in"
            fault = "\(what): nothing moved any more for \(stalled.inSeconds) s"
        }
        let time = marks.reduce(Duration.zero) { $0 + $1.time }
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline(connectingTime: connectingTime),
            parameters: plan.parameters,
            rows: [
                [
                    .count("members", "members", crowd.joinedCount),
                    .count("notices", "notices", crowd.noticeCount),
                    .rate("joins", "joins", crowd.joinedCount, in: time),
                ], JoinsMark.rows(marks),
                BenchReport.Row.deflate(crowd.admission, of: generator.subject),
            ].flatMap { $0 },
            fault: fault
        )
    }
}
