import CommandSupport
import Net
import Primitives
import PusherProtocol

/// Runs the restart benchmark.
final class RestartRun: ScenarioRun {
    private let isKilled: Bool
    private let timeMax: Duration
    private let server: ServerCommand
    private let generator: LoadGenerator
    private let clients: ReturningClients
    private var phase = Phase.connecting
    /// From the signal until the process had ended.
    private var stoppingTime = Duration.zero
    /// From the start of the new process until all clients were back.
    private var returningTime = Duration.zero

    private enum Phase {
        case connecting
        case stopping(since: MonotonicTime)
        case returning(since: MonotonicTime)
    }

    init(
        _ command: RestartCommand,
        _ server: ServerCommand,
        _ channel: ChannelName,
        _ generator: LoadGenerator
    ) {
        isKilled = command.kill
        timeMax = .seconds(command.within)
        self.server = server
        self.generator = generator
        clients = ReturningClients(
            count: command.clients,
            channel: channel,
            recovery: command.recovery,
            generator: generator
        )
        clients.connectAll()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        let next = try clients.connectDue(at: now)
        let (count, all) = (clients.subscribedCount, clients.count)
        switch phase {
        case .connecting:
            generator.progress.show("Connecting", count, of: all, at: now)
            if generator.isStalled(count, at: now) {
                let timeout = generator.target.stallTimeout
                throw .connectingStalled(connected: count, of: all, timeout: timeout)
            }
            if clients.areSubscribed {
                generator.progress.end()
                server.end(kill: isKilled)
                phase = .stopping(since: now)
            }
        case .stopping(let start):
            generator.resetStallTimer(at: now)
            guard server.hasEnded else { return .wait(.milliseconds(2)) }
            stoppingTime = start.duration(to: .current)
            try server.start()
            phase = .returning(since: .current)
        case .returning(let start):
            generator.progress.show("Returning", count, of: all, at: now)
            returningTime = start.duration(to: now)
            if clients.areSubscribed || returningTime > max(timeMax * 2, .seconds(30)) {
                return .finished(after: .zero)
            }
        }
        return .wait(until: next)
    }

    @RowBuilder func rows() -> [Row] {
        Row.count("clients", "subscribed", clients.subscribedCount)
        Row.time("server ended after", "stopping", stoppingTime)
        Row.time("all back after", "returned", returningTime)
        Row.disconnections("connections ended", "connections", clients.disconnections)
    }

    func fault(stalled: Duration?) -> String? {
        guard clients.areSubscribed else {
            return "\(grouped(clients.count - clients.subscribedCount)) clients are not back"
        }
        guard returningTime > timeMax else { return nil }
        return "all clients were back after \(seconds(returningTime)) only"
    }
}
