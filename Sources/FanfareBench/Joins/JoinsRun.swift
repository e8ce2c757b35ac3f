import CommandSupport
import Net
import Primitives
import PusherProtocol

/// Runs the joins benchmark.
final class JoinsRun: ScenarioRun {
    private let userCount: Int
    private let joinsPerRow: Int
    private let pace: Pace
    private let generator: LoadGenerator
    private let clients: JoinsClients
    private let beganAt = MonotonicTime.current
    /// When each join is due, and the sample at the last row; nil while connecting.
    private var joining: (Schedule, JoinsSample)?
    private var samples: [JoinsSample] = []

    init(_ scenario: JoinsCommand, _ channel: ChannelName, _ generator: LoadGenerator) {
        userCount = scenario.users
        joinsPerRow = scenario.joinsPerRow
        pace = scenario.rate.map { .rate($0) } ?? .window(64)
        self.generator = generator
        clients = JoinsClients(count: userCount, of: channel, generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let (schedule, last) = joining { return join(schedule, since: last, at: now) }
        guard try clients.connect(at: now) else { return .idle }
        let schedule = Schedule(pace: pace, messageCount: userCount, start: .current)
        joining = (schedule, takeSample())
        return .wait(.zero)
    }

    private func join(_ schedule: Schedule, since last: JoinsSample, at now: MonotonicTime)
        -> BenchStep
    {
        generator.progress.show("Joining", clients.joinedCount, of: userCount, at: now)
        // The next step starts when all members of this one know each other, so that steps do not overlap.
        let nextSampleAt = min(last.memberCount + joinsPerRow, userCount)
        if clients.startedCount == nextSampleAt, clients.isComplete {
            let reached = takeSample()
            samples.append(reached.since(last))
            guard nextSampleAt < userCount else { return .complete }
            joining = (schedule, reached)
            return .wait(.zero)
        }
        if generator.isStalled(clients.knownCount + clients.startedCount, at: now) {
            return .stalled
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
                return .wait(until: due)
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

    @RowBuilder func rows() -> [Row] {
        let time = samples.reduce(Duration.zero) { $0 + $1.time }
        Row.count("members", "members", clients.joinedCount)
        Row.count("notices", "notices", clients.noticeCount)
        Row.rate("joins", "joins", clients.joinedCount, in: time)
        JoinsSample.rows(samples)
        Row.deflate(clients.ramp, of: generator.target)
    }

    func fault(stalled: Duration?) -> String? {
        guard let stalled else { return clients.fault }
        let what = clients.fault ?? "\(grouped(userCount - clients.joinedCount)) not subscribed"
        return "\(what): no progress for \(stalled.inSeconds) s"
    }
}
