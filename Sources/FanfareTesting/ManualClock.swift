public import FanfareClient
import Synchronization

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let cache = Cache(lifetime: .seconds(60), clock: clock)
/// clock.advance(by: .seconds(60))
/// ```
///
/// A ``ScriptedBroker`` brings one, and its clients go by it: ``ScriptedBroker/advance(by:_:)``
/// moves that. Nothing of it needs real time.
public final class ManualClock: Clock {
    /// A moment of the clock, as the time since it was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let offset: Duration

        /// The moment after a time.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// The time until another moment; negative if that is earlier.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether one moment is before another.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    /// Who waits for a moment.
    private enum Waiter {
        case sleeper(CheckedContinuation<Void, any Error>)
        /// Called while the clock is moved, on the mover's thread.
        case alarm(@Sendable () -> Void)
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        /// In the order in which they came, which decides among those of one moment.
        var waiters: [(id: Int, deadline: Instant, waiter: Waiter)] = []
        /// The sleeps that ``waitForSleep(of:within:)`` has not taken note of, the oldest first.
        var requests: [Duration] = []

        mutating func add(_ waiter: Waiter, _ id: Int, until deadline: Instant) {
            waiters.append((id, deadline, waiter))
        }

        mutating func remove(_ id: Int) -> Waiter? {
            waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0).waiter }
        }

        /// Goes on to the next moment that somebody waits for, if it is not later than `end`.
        mutating func next(notAfter end: Instant) -> Waiter? {
            let first = waiters.indices.min { waiters[$0].deadline < waiters[$1].deadline }
            guard let first, waiters[first].deadline <= end else { return nil }
            let (_, deadline, waiter) = waiters.remove(at: first)
            now = max(now, deadline)
            return waiter
        }
    }

    /// How many sleeps are remembered for whoever waits for one; older ones are forgotten.
    private static let requestsMax = 1_000

    private let state = Mutex(State())
    private let changes = Changes()

    /// Makes a clock that stands at zero.
    public init() {}

    /// Where the clock stands.
    public var now: Instant { state.withLock { $0.now } }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The clock as a client takes it, for its options.
    public var clientClock: ClientClock { ClientClock(self) }

    /// How many tasks sleep.
    public var sleeperCount: Int {
        state.withLock { state in
            state.waiters.count { if case .sleeper = $0.waiter { true } else { false } }
        }
    }

    /// Waits until the clock has been moved to a moment.
    ///
    /// - Parameters:
    ///   - deadline: The moment; one that has passed is not waited for.
    ///   - tolerance: Not used: the clock is exact.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = nextID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let immediate: Result<Void, any Error>? = state.withLock { state in
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    state.requests.append(state.now.duration(to: deadline))
                    if state.requests.count > Self.requestsMax { state.requests.removeFirst() }
                    guard deadline > state.now else { return .success(()) }
                    state.add(.sleeper(continuation), id, until: deadline)
                    return nil
                }
                if let immediate { continuation.resume(with: immediate) }
                changes.note()
            }
        } onCancel: {
            if case .sleeper(let continuation) = state.withLock({ $0.remove(id) }) {
                continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// Moves the clock on, and wakes everybody who waits for a moment on the way, in order.
    ///
    /// A task that is woken runs a little later, when the clock stands where it was moved to. Move
    /// it in steps where that makes a difference.
    ///
    /// - Parameter duration: Not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "time does not go back")
        let end = now.advanced(by: duration)
        while let waiter = state.withLock({ $0.next(notAfter: end) }) {
            switch waiter {
            case .sleeper(let continuation): continuation.resume()
            case .alarm(let call): call()
            }
        }
        state.withLock { $0.now = max($0.now, end) }
        changes.note()
    }

    /// Waits until a task sleeps, and says for how long; each sleep is told once, in order.
    ///
    /// - Parameters:
    ///   - duration: The sleep to wait for; shorter and longer ones before it are skipped. `nil`
    ///     for the next one, whatever it is.
    ///   - patience: The real time after which this gives up.
    /// - Returns: How long the task was to sleep when it began.
    /// - Throws: ``FanfareTestingError/waitedInVain(for:within:seen:)``, or `CancellationError`.
    @discardableResult
    public func waitForSleep(
        of duration: Duration? = nil,
        within patience: Duration = .seconds(30)
    ) async throws -> Duration {
        let found = Mutex<Duration?>(nil)
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

    // MARK: Alarms

    /// Calls at a moment, while the clock is being moved there.
    ///
    /// - Parameters:
    ///   - moment: When, since the clock was made; in the past it is called by the next move.
    ///   - call: Called on the thread that moves the clock.
    /// - Returns: What ``cancelAlarm(_:)`` takes.
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
