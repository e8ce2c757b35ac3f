import FanfareClient
import Primitives

/// Runs the tasks of the simulated apps on the simulation's thread, when it asks for that.
final class LeaseExecutor: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs the jobs, and those that they add, up to a number; returns how many there were.
    @discardableResult
    func run(_ limit: Int = .max) -> Int {
        var count = 0
        while count < limit,
            let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() })
        {
            job.runSynchronously(on: asUnownedTaskExecutor())
            count += 1
        }
        return count
    }
}

/// The clock of the simulated clients, whose timers fire only on request.
final class LeaseClock: @unchecked Sendable {
    // SAFETY: a simulation has one thread.
    private let environment: World.Environment
    private var timers: [(at: Duration, call: ClientClock.Call)] = []
    private var sleepers: [(at: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    /// A client ignores the call of a timer that it has stopped, so no task has to be cancelled.
    private let endedTask = Task<Void, Never> {}

    init(_ environment: World.Environment) { self.environment = environment }

    private var now: Duration { .milliseconds(environment.milliseconds) }

    var clientClock: ClientClock {
        ClientClock(
            now: { self.now },
            sleep: { time in
                await withCheckedContinuation { self.sleepers.append((time, $0)) }
            },
            startTimer: { time, call in
                self.timers.append((time, call))
                return self.endedTask
            }
        )
    }

    /// Whether an app waits before it loads its state again.
    var isAwaited: Bool { !sleepers.isEmpty }

    /// Fires the timers that are due, in order.
    func fire() {
        while let index = timers.indices.min(by: { timers[$0].at < timers[$1].at }),
            timers[index].at <= now
        {
            timers.remove(at: index).call()
        }
        for sleeper in sleepers where sleeper.at <= now { sleeper.continuation.resume() }
        sleepers.removeAll { $0.at <= now }
    }

    /// Ends all sleeps, and drops all timers.
    func end() {
        timers = []
        for sleeper in exchange(&sleepers, with: []) { sleeper.continuation.resume() }
    }
}
