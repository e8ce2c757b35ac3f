import CommandSupport
import Net
import Primitives

/// Runs the restart benchmark, one step per turn of the loop.
final class RestartRun: BenchRun {
    private let plan: RestartPlan
    private let generator: LoadGenerator
    private let clients: ReturningClients
    private var phase = Phase.connecting
    /// From the signal until the process had ended.
    private var stoppingTime = Duration.zero

    private enum Phase {
        case connecting
        case stopping(since: MonotonicTime)
        case returning(since: MonotonicTime)
    }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - generator: The load generator.
    init(plan: RestartPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        clients = ReturningClients(
            count: plan.clientCount,
            channel: plan.channel,
            recovery: plan.recovery,
            generator: generator
        )
        clients.connectAll()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = clients.failure { throw failure }
        let next = try clients.connectDue(at: now)
        switch phase {
        case .connecting:
            let (count, all) = (clients.subscribedCount, plan.clientCount)
            generator.progress.show("Connecting", count, of: all, at: now)
            if generator.isStalled(count, at: now) {
                throw .connectingStalled(
                    connected: count,
                    of: all,
                    timeout: generator.target.stallTimeout
                )
            }
            if clients.areSubscribed {
                generator.progress.end()
                plan.server.end(kill: plan.isKilled)
                phase = .stopping(since: now)
            }
        case .stopping(let start):
            generator.resetStallTimer(at: now)
            guard plan.server.hasEnded else { return .wait(.milliseconds(2)) }
            stoppingTime = start.duration(to: .current)
            try plan.server.start()
            phase = .returning(since: .current)
        case .returning(let start):
            let (count, all) = (clients.subscribedCount, plan.clientCount)
            generator.progress.show("Returning", count, of: all, at: now)
            let time = start.duration(to: now)
            if clients.areSubscribed { return .finished(report(time, fault: nil)) }
            if time > max(plan.timeMax * 2, .seconds(30)) {
                let missing = grouped(all - count)
                return .finished(report(time, fault: "\(missing) clients are not back"))
            }
        }
        guard let next else { return .idle }
        return .wait(from: .current, until: next)
    }

    private func report(_ time: Duration, fault: String?) -> BenchReport {
        let isLate = time > plan.timeMax
        return BenchReport(
            benchmark: plan.benchmark,
            url: generator.target.url.text,
            headline: plan.headline,
            parameters: plan.parameters,
            rows: [
                .count("clients", "subscribed", clients.subscribedCount),
                .time("server ended after", "stopping", stoppingTime),
                .time("all back after", "returned", time),
                BenchReport.Row(
                    label: "connections ended",
                    text: clients.disconnections.description,
                    members: clients.disconnections.members("connections")
                ),
            ],
            fault: fault ?? (isLate ? "all clients were back after \(seconds(time)) only" : nil)
        )
    }
}
