import Net

/// A fan-out benchmark from the first connection to the report; a step a turn of the loop.
final class FanoutRun {
    /// The report, or what stood in its way; nil while the run goes on.
    private(set) var outcome: Result<FanoutReport, BenchError>?

    private let plan: FanoutPlan
    private let reactor: Reactor
    private let audience: Audience
    private let publisher: Publisher
    private var progress = ProgressBar()
    private var patience: Patience
    private var phase = Phase.reaching
    private var server: ServerProcess?
    private let beganAt: MonotonicTime
    private var connectingTime = Duration.zero

    private enum Phase {
        /// The first connection tells whether there is a server, and at which address.
        case reaching
        case connecting
        case delivering(Schedule, before: CPUTimes)
        /// Everything has arrived; what comes now comes twice.
        case listening(Schedule, CPUTimes, until: MonotonicTime)
    }

    /// CPU times at one moment, in nanoseconds.
    private struct CPUTimes {
        var server: Int64?
        var reader: Int64

        static func - (after: CPUTimes, before: CPUTimes) -> CPUTimes {
            let server = after.server.flatMap { after in before.server.map { after - $0 } }
            return CPUTimes(server: server, reader: after.reader - before.reader)
        }
    }

    /// How long duplicates are waited for when everything has arrived.
    private static let aftermath = Duration.milliseconds(200)
    /// How often the progress bar moves, and how long a turn waits at most.
    private static let tick = Duration.milliseconds(100)
    /// The loop's timers count milliseconds; an event that is due within this time is waited for
    /// without sleeping.
    private static let spin = Duration.milliseconds(1)

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - dialer: Makes the connections.
    ///   - reactor: Whose thread all calls come on.
    init(plan: FanoutPlan, dialer: Dialer, reactor: Reactor) {
        self.plan = plan
        self.reactor = reactor
        audience = Audience(plan: plan, dialer: dialer, reactor: reactor)
        publisher = Publisher(plan: plan, dialer: dialer, reactor: reactor)
        beganAt = .current
        patience = Patience(plan.patience, since: beganAt)
        publisher.connect()
    }

    /// Does what is due.
    ///
    /// - Returns: How long the next turn may wait for something to happen.
    func step() -> Duration {
        let now = MonotonicTime.current
        if let failure = publisher.failure ?? audience.failure {
            end(.failure(explained(failure)))
            return .zero
        }
        switch phase {
        case .reaching:
            if publisher.canPublish {
                beginConnecting()
            } else if patience.isExhausted(progress: 0, at: now) {
                endConnecting()
            }
        case .connecting:
            audience.connectMore()
            let count = audience.acknowledgedCount
            progress.show("Connecting", count, of: plan.subscriberCount, at: now)
            if audience.isComplete {
                beginDelivering(at: now)
            } else if patience.isExhausted(progress: count, at: now) {
                endConnecting()
            }
        case .delivering(let schedule, let before):
            return deliver(schedule, before: before, at: now)
        case .listening(let schedule, let times, let end):
            if now >= end { report(schedule, times, isTimedOut: false) }
        }
        return Self.tick
    }

    // MARK: Connecting

    private func beginConnecting() {
        if let id = plan.serverID {
            server = ServerProcess(id: id)
        } else if publisher.isLocal {
            server = ServerProcess(listeningOn: plan.target.port)
        }
        phase = .connecting
        audience.connectMore()
    }

    private func endConnecting() {
        let stalled = BenchError.connectingStalled(
            acknowledged: audience.acknowledgedCount,
            of: plan.subscriberCount,
            patience: plan.patience
        )
        end(.failure(explained(stalled)))
    }

    /// Names the server's limit of descriptors where that may be why it lets nobody in any more.
    private func explained(_ failure: BenchError) -> BenchError {
        guard case .connecting = phase, let limit = server?.descriptorLimit,
            limit <= plan.subscriberCount
        else { return failure }
        return .serverLimit(limit, reason: "\(failure)")
    }

    // MARK: Delivering

    private func beginDelivering(at now: MonotonicTime) {
        connectingTime = beganAt.duration(to: now)
        progress.end()
        let before = cpuTimes()
        let schedule = Schedule(
            pace: plan.pace,
            messageCount: plan.messageCount,
            subscriberCount: plan.subscriberCount,
            start: .current
        )
        phase = .delivering(schedule, before: before)
        publish(schedule)
    }

    private func deliver(
        _ schedule: Schedule,
        before: CPUTimes,
        at now: MonotonicTime
    ) -> Duration {
        let wait = publish(schedule)
        let tally = audience.tally
        progress.show(
            "Delivering",
            tally.deliveries,
            of: plan.messageCount * plan.subscriberCount,
            at: now
        )
        if tally.missing == 0 && publisher.unansweredCount == 0 {
            if tally.sentCount == plan.messageCount {
                phase = .listening(
                    schedule,
                    cpuTimes() - before,
                    until: now.advanced(by: Self.aftermath)
                )
                return Self.aftermath
            }
            // Between two events of a slow rate there is nothing to lose patience with.
            patience.renew(at: now)
        }
        let arrivals = tally.deliveries + tally.duplicated + tally.sentCount
        if patience.isExhausted(progress: arrivals, at: now) {
            report(schedule, cpuTimes() - before, isTimedOut: true)
        }
        return wait
    }

    /// Sends all events that are due, and returns how long until the next one.
    @discardableResult
    private func publish(_ schedule: Schedule) -> Duration {
        while publisher.canPublish {
            let now = MonotonicTime.current
            let tally = audience.tally
            switch schedule.step(sent: tally.sentCount, missing: tally.missing, now: now) {
            case .send(let due): publisher.publish(audience.nextData(due: due))
            case .wait(let due):
                let rest = now.duration(to: due)
                return rest <= Self.spin ? .zero : min(rest - Self.spin, Self.tick)
            case .waitForDeliveries, .finished: return Self.tick
            }
        }
        return Self.tick
    }

    // MARK: The end

    private func report(_ schedule: Schedule, _ times: CPUTimes, isTimedOut: Bool) {
        let lastAt = audience.lastDeliveryAt ?? schedule.start
        end(
            .success(
                FanoutReport(
                    plan: plan,
                    tally: audience.tally,
                    latency: LatencyFigures(audience.latencies),
                    connectingTime: connectingTime,
                    deliveringTime: schedule.start.duration(to: lastAt),
                    server: server,
                    serverTime: times.server,
                    readerTime: times.reader,
                    isTimedOut: isTimedOut
                )
            )
        )
    }

    private func end(_ outcome: Result<FanoutReport, BenchError>) {
        progress.end()
        self.outcome = outcome
    }

    private func cpuTimes() -> CPUTimes {
        CPUTimes(server: server?.cpuTime(), reader: ServerProcess.ownCPUTime())
    }
}
