public import FanfareClient
import Primitives

/// A clock that a test advances.
///
/// ```swift
/// let clock = ManualClock()
/// let cache = Cache(lifetime: .seconds(60), clock: clock)
/// clock.advance(by: .seconds(60))
/// ```
///
/// Each ``ScriptedBroker`` has one, which its clients also use; ``ScriptedBroker/advance(by:_:)`` advances it. No real
/// time passes.
public final class ManualClock: Clock {
    /// An instant of the clock, as the time since its creation.
    public struct Instant: InstantProtocol {
        /// The time since the clock's creation.
        public let offset: Duration

        /// The instant after a duration.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// The duration until another instant; negative if that is earlier.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether one instant is before another.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    /// A waiting task or callback.
    private enum Waiter {
        case sleeper(CheckedContinuation<Void, any Error>)
        /// The task of a client's timer; when it is resumed, it calls the client.
        case timer(CheckedContinuation<Void, any Error>)
        /// Called on the thread that advances the clock.
        case alarm(@Sendable () -> Void)
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        /// The waiters in the order of registration, which decides among equal deadlines.
        var waiters: [(id: Int, deadline: Instant, waiter: Waiter)] = []
        /// The sleeps that ``waitForSleep(of:within:)`` has not returned yet, oldest first.
        var requests: [Duration] = []
        /// The number of client timers that have just been started, or are due and have not returned yet.
        var busyTimerCount = 0

        mutating func add(_ waiter: Waiter, _ id: Int, until deadline: Instant) {
            waiters.append((id, deadline, waiter))
        }

        mutating func remove(_ id: Int) -> Waiter? {
            waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0).waiter }
        }

        /// Advances to the next deadline, if it is not later than `end`.
        mutating func next(notAfter end: Instant) -> Waiter? {
            let first = waiters.indices.min { waiters[$0].deadline < waiters[$1].deadline }
            guard let first, waiters[first].deadline <= end else { return nil }
            let (_, deadline, waiter) = waiters.remove(at: first)
            now = max(now, deadline)
            if case .timer = waiter { busyTimerCount += 1 }
            return waiter
        }
    }

    /// The maximum number of recorded sleeps; older ones are removed.
    private static let requestsMax = 1_000

    private let state = Lock(State())
    private let changes = ChangeNotifier()

    /// Creates a clock at zero.
    public init() {}

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The clock for a client's options.
    public var clientClock: ClientClock {
        ClientClock(
            now: { self.now.offset },
            sleep: { try await self.sleep(until: Instant(offset: $0)) },
            startTimer: { moment, call in
                self.state.withLock { $0.busyTimerCount += 1 }
                return Task { await self.runTimer(at: Instant(offset: moment), call) }
            }
        )
    }

    /// The number of sleeping tasks.
    public var sleeperCount: Int {
        state.withLock { state in
            state.waiters.count { if case .alarm = $0.waiter { false } else { true } }
        }
    }

    /// Suspends until the clock has reached an instant.
    ///
    /// - Parameters:
    ///   - deadline: The instant; returns at once if it has passed.
    ///   - tolerance: Ignored, because the clock is exact.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await sleep(until: deadline) { .sleeper($0) }
    }

    private func sleep(
        until deadline: Instant,
        as waiter: @Sendable (CheckedContinuation<Void, any Error>) -> Waiter
    ) async throws {
        let id = nextID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let immediate: Result<Void, any Error>? = state.withLock { state in
                    let waiter = waiter(continuation)
                    let isCancelled = Task.isCancelled
                    let isDue = deadline <= state.now
                    if case .timer = waiter, isCancelled || !isDue { state.busyTimerCount -= 1 }
                    guard !isCancelled else { return .failure(CancellationError()) }
                    state.requests.append(state.now.duration(to: deadline))
                    if state.requests.count > Self.requestsMax { state.requests.removeFirst() }
                    guard !isDue else { return .success(()) }
                    state.add(waiter, id, until: deadline)
                    return nil
                }
                if let immediate { continuation.resume(with: immediate) }
                changes.notify()
            }
        } onCancel: {
            switch state.withLock({ $0.remove(id) }) {
            case .sleeper(let continuation), .timer(let continuation):
                continuation.resume(throwing: CancellationError())
            case .alarm, nil: break
            }
        }
    }

    /// Advances the clock, and resumes the waiters in the order of their deadlines.
    ///
    /// A resumed task runs slightly later, when the clock has already reached the final instant. If that matters, use
    /// ``ScriptedBroker/advance(by:_:)``, which stops at each deadline.
    ///
    /// - Parameter duration: Not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "the duration is negative")
        advance(to: now.advanced(by: duration))
    }

    /// Advances the clock to an instant, unless it is already later.
    func advance(to end: Instant) {
        while let waiter = state.withLock({ $0.next(notAfter: end) }) {
            switch waiter {
            case .sleeper(let continuation), .timer(let continuation): continuation.resume()
            case .alarm(let call): call()
            }
        }
        state.withLock { $0.now = max($0.now, end) }
        changes.notify()
    }

    /// Waits until a task sleeps, and returns the duration; each sleep is returned once, in order.
    ///
    /// - Parameters:
    ///   - duration: The duration to wait for; other sleeps before it are skipped. `nil` for the next sleep.
    ///   - patience: The timeout, in real time.
    /// - Returns: The duration of the sleep when it began.
    /// - Throws: ``FanfareTestingError/timedOut(waitingFor:within:seen:)``, or `CancellationError`.
    @discardableResult
    public func waitForSleep(
        of duration: Duration? = nil,
        within patience: Duration = .seconds(30)
    ) async throws -> Duration {
        let found = Lock<Duration?>(nil)
        try await changes.wait(
            for: "a task to sleep\(duration.map { " for \($0)" } ?? "")",
            within: patience,
            seen: { [] },
            until: {
                found.withLock { found in
                    found = self.takeRequest(duration)
                    return found != nil
                }
            }
        )
        return found.withLock { $0 } ?? .zero
    }

    private func takeRequest(_ duration: Duration?) -> Duration? {
        state.withLock { state in
            guard let index = state.requests.firstIndex(where: { $0 == duration ?? $0 }) else {
                return nil
            }
            let request = state.requests[index]
            state.requests.removeFirst(index + 1)
            return request
        }
    }

    // MARK: Timers of clients

    /// The next instant at which a task, timer or callback is due; `nil` if none waits.
    var nextDeadline: Instant? { state.withLock { $0.waiters.map(\.deadline).min() } }

    /// Whether a client's timer has just been started, or is due and has not returned yet.
    var hasBusyTimers: Bool { state.withLock { $0.busyTimerCount > 0 } }

    /// Calls a client's timer at its deadline, unless the task is cancelled.
    private func runTimer(at deadline: Instant, _ call: ClientClock.Call) async {
        guard (try? await sleep(until: deadline, as: { .timer($0) })) != nil else { return }
        call()
        state.withLock { $0.busyTimerCount -= 1 }
    }

    // MARK: Alarms

    /// Calls a function when the clock reaches an instant.
    ///
    /// - Parameters:
    ///   - moment: The time since the clock's creation; an instant in the past is due at the next advance.
    ///   - call: Called on the thread that advances the clock.
    /// - Returns: The ID for ``cancelAlarm(_:)``.
    func setAlarm(at moment: Duration, _ call: @escaping @Sendable () -> Void) -> Int {
        let id = nextID()
        state.withLock { $0.add(.alarm(call), id, until: Instant(offset: moment)) }
        return id
    }

    func cancelAlarm(_ id: Int) { _ = state.withLock { $0.remove(id) } }

    private func nextID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }
}
