import CLinux
import Glibc
import Synchronization

/// The actor that runs on an ``EventLoop``'s thread.
///
/// Its `unownedExecutor` must be that loop, and it owns the ``Reactor`` that waits:
///
/// ```swift
/// actor Shard: LoopResident {
///     nonisolated let loop: EventLoop
///     nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///     private let reactor: Reactor
///     private var isStopping = false
///     init(loop: EventLoop) throws {
///         self.loop = loop
///         reactor = try Reactor(loop: loop)
///     }
///     func turn() -> Bool {
///         reactor.poll()
///         reactor.flush()
///         if isStopping { reactor.shutDown() }
///         return !isStopping
///     }
///     func stop() { isStopping = true }
/// }
/// ```
public protocol LoopResident: Actor {
    /// Waits once, handles what is ready, and flushes; false ends the loop.
    func turn() -> Bool

    /// Handles posted messages, without waiting, while the loop's thread sleeps.
    ///
    /// Called on the thread of the loop that posted (``EventLoop/assist()``), so it should do little and leave longer
    /// work to the loop's own thread. Returns whether the loop's thread has to wake up: work is left, or a timer is due
    /// earlier than before.
    func assist() -> Bool
}

extension LoopResident {
    /// Leaves everything to the loop's own thread.
    public func assist() -> Bool { true }
}

/// A thread that is the serial executor of one actor, its ``LoopResident``.
///
/// While it waits for events, the thread of another loop may run the resident for a moment (``assist()``). The two
/// threads never run it at the same time, and each sees the other's writes.
///
/// Between two turns the thread runs the actor's jobs: calls of its methods from elsewhere, and the rest of its tasks.
/// Before the thread starts and after it has ended, jobs run one at a time on Swift's default executor. So a call of
/// the actor always returns.
public final class EventLoop: SerialExecutor, Sendable {
    /// The thread's name, of which Linux shows 15 bytes.
    public let name: String
    /// An eventfd in the reactor's epoll set.
    let wakeup: FileDescriptor
    /// Which thread runs the resident, and whether something was posted since its last turn began.
    let activity = LoopActivity()
    /// The resident, while the loop runs; locked by the thread that assists.
    private let resident = Mutex<(any LoopResident)?>(nil)
    /// An eventfd that becomes readable when the thread is done, for ``join()``.
    private let ended: FileDescriptor
    /// The thread that runs jobs: the loop's own, or one of the default executor's; 0 for none.
    ///
    /// Written under the lock of `state`; while the loop sleeps, under the lock of `resident`.
    private let thread = Atomic<UInt>(0)
    private let state = Mutex(State())

    private struct State {
        enum Phase { case idle, running, ended }

        var phase = Phase.idle
        /// Jobs that have not begun.
        var jobs: [UnownedJob] = []
        /// Whether a task of the default executor was started for the jobs and has not ended; it may not have begun.
        var isDrainStarted = false
        /// Whether that task runs jobs; then no other thread runs them, even when the phase is `running`.
        var isDraining = false
        /// Callers of `waitUntilStopped()`.
        var waiting: [CheckedContinuation<Void, Never>] = []

        /// Returns whether to start a task for the jobs: neither the thread nor another task runs them.
        mutating func beginDraining() -> Bool {
            guard phase != .running, !isDrainStarted, !jobs.isEmpty else { return false }
            isDrainStarted = true
            return true
        }
    }

    /// Makes a loop that does not run yet, whose thread has this name.
    ///
    /// - Parameter name: The name of its thread, of which Linux shows 15 bytes.
    /// - Throws: The error of `eventfd`: descriptors or memory have run out.
    public init(name: String = "loop") throws(SystemError) {
        let flags = Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)
        self.name = name
        ended = try FileDescriptor(eventfd(0, flags), from: "eventfd")
        wakeup = try FileDescriptor(eventfd(0, flags), from: "eventfd")
    }

    /// Whether the caller runs on this loop's thread, or in one of the actor's jobs while there is no such thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Ends the reactor's wait, or its next one; from any thread.
    ///
    /// The turn that follows sees everything that the caller wrote before.
    public func wake() {
        if activity.post() { eventfd_write(wakeup.raw, 1) }
    }

    /// Runs the resident's `assist()` on the calling thread if the loop's thread sleeps; else wakes the loop.
    ///
    /// For posts that need little work, from a thread that has no more urgent work. Waking another thread costs as much
    /// as several sends, on both sides.
    public func assist() {
        let isDone = resident.withLockIfAvailable { resident in
            guard let resident, activity.beginAssisting() else { return false }
            let previous = thread.exchange(UInt(pthread_self()), ordering: .relaxed)
            let needsThread = resident.assumeIsolated { $0.assist() }
            thread.store(previous, ordering: .relaxed)
            if activity.endAssisting(needsThread: needsThread) { eventfd_write(wakeup.raw, 1) }
            return true
        }
        if isDone != true { wake() }
    }

    /// Ends the sleep after a wait and clears the posted mark.
    ///
    /// Called by the reactor, before mailboxes are drained.
    func endSleep() {
        // The assisting thread holds the lock until it has finished.
        while !activity.endSleep() { resident.withLock { _ in } }
    }

    // MARK: Executor

    /// Enqueues a job of the Swift runtime, to run after the current turn.
    ///
    /// It never runs inside this call: the caller may hold a lock that the job needs.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isRunning, beginsDraining) = state.withLock { state in
            state.jobs.append(job)
            return (state.phase == .running, state.beginDraining())
        }
        if isRunning { wake() }
        if beginsDraining { startDraining() }
    }

    /// Returns whether this thread is the loop's; called by the runtime outside a job.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Traps unless the caller runs on the loop's thread.
    public func checkIsolated() { precondition(isCurrent, "not on the thread of loop \(name)") }

    // MARK: Running

    /// Starts the thread, which calls the resident's `turn()` until it returns false.
    ///
    /// A loop runs once. The thread blocks all signals, so that they are delivered to the program's other threads.
    ///
    /// - Parameter resident: The actor whose executor is this loop; the thread keeps it alive.
    /// - Throws: The error of `pthread_create`: threads or memory have run out.
    public func start(_ resident: some LoopResident) throws(SystemError) {
        state.withLock { state in
            precondition(state.phase == .idle, "a loop runs once")
            state.phase = .running
        }
        do throws(SystemError) {
            try startThread { self.run(resident) }
        } catch {
            let beginsDraining = state.withLock { state in
                state.phase = .idle
                return state.beginDraining()
            }
            if beginsDraining { startDraining() }
            throw error
        }
    }

    /// Blocks the calling thread, which is not the loop's, until the loop has stopped.
    public func join() {
        precondition(!isCurrent, "a loop cannot wait for itself")
        var poll = pollfd(fd: ended.raw, events: Int16(POLLIN), revents: 0)
        while Glibc.poll(&poll, 1, -1) < 0 && errno == EINTR {}
    }

    /// Waits until the loop has stopped; returns at once if it never ran.
    public func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard state.phase == .running else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func run(_ resident: some LoopResident) {
        pthread_setname_np(pthread_self(), String(name.prefix(15)))
        awaitDraining()
        // Jobs enqueued before the start have not woken the loop.
        wake()
        self.resident.withLock { $0 = resident }
        while resident.assumeIsolated({ turns(of: $0) }) {
            // A job may have changed the resident's state so that its next turn must not wait.
            if runJobs() { wake() }
        }
        self.resident.withLock { $0 = nil }
        // The job that asked the resident to stop may be followed by the rest of its caller.
        while !hasEnded() { _ = runJobs() }
        let waiting = state.withLock { exchange(&$0.waiting, with: []) }
        eventfd_write(ended.raw, 1)
        for continuation in waiting { continuation.resume() }
    }

    /// Sets the phase to ended if no job is left.
    private func hasEnded() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.phase = .ended
            thread.store(0, ordering: .relaxed)
            return true
        }
    }

    /// Runs turns of the resident until a job waits, without leaving its isolation in between.
    private func turns(of resident: isolated some LoopResident) -> Bool {
        repeat {
            guard resident.turn() else { return false }
        } while state.withLock { $0.jobs.isEmpty }
        return true
    }

    /// Runs the enqueued jobs; jobs that these enqueue wait until after the next turn.
    private func runJobs() -> Bool {
        let jobs = state.withLock { exchange(&$0.jobs, with: []) }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        return !jobs.isEmpty
    }
}

// Jobs while the thread does not run.
extension EventLoop {
    private func startDraining() { Task.detached { self.drain() } }

    /// Runs jobs until there are none, or until the thread takes over.
    ///
    /// It does not suspend, so it stays on one thread.
    private func drain() {
        while let jobs = takeJobs() {
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// Returns the jobs for ``drain()``; nil if it is to end.
    private func takeJobs() -> [UnownedJob]? {
        let (jobs, isAwaited) = state.withLock { state -> ([UnownedJob]?, Bool) in
            let isRunning = state.phase == .running
            guard !isRunning, !state.jobs.isEmpty else {
                let wasDraining = exchange(&state.isDraining, with: false)
                // A task that runs only after the thread's start must not clear the thread's own ID.
                if wasDraining { thread.store(0, ordering: .relaxed) }
                state.isDrainStarted = false
                return (nil, wasDraining && isRunning)
            }
            state.isDraining = true
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            return (exchange(&state.jobs, with: []), false)
        }
        if isAwaited { eventfd_write(wakeup.raw, 1) }
        return jobs
    }

    /// Makes the calling thread the loop's, once no task runs jobs any more.
    private func awaitDraining() {
        while true {
            let isFree = state.withLock { state in
                if !state.isDraining { thread.store(UInt(pthread_self()), ordering: .relaxed) }
                return !state.isDraining
            }
            if isFree { return }
            var poll = pollfd(fd: wakeup.raw, events: Int16(POLLIN), revents: 0)
            _ = Glibc.poll(&poll, 1, -1)
            // Reset, so that only a later write ends the next wait. A wake-up lost by this is still recorded as posted.
            var posted: eventfd_t = 0
            eventfd_read(wakeup.raw, &posted)
        }
    }
}

/// Runs `body` on a new, detached thread that blocks all signals.
func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // A thread inherits its creator's signal mask.
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    let argument = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread,
        &attributes,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        },
        argument.toOpaque()
    )
    guard code == 0 else {
        argument.release()
        throw SystemError(call: "pthread_create", code: code)
    }
}
