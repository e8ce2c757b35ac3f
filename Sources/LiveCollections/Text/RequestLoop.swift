/// The waits of a task that makes requests: for work, and between a failed request and its repetition.
@MainActor final class RequestLoop {
    private let delays: ClosedRange<Duration>
    private let sleep: @Sendable (Duration) async throws -> Void
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private var delay: Duration
    /// The current delay.
    private var sleeping: Task<Void, Never>?

    init(_ options: LiveText.Options) {
        delays = options.retryDelay
        sleep = options.sleep
        delay = delays.lowerBound
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Ends the task's wait for work, now or when it next waits; `endsDelay` also ends the delay before a retry.
    func wake(endsDelay: Bool = false) {
        if endsDelay {
            resetDelay()
            sleeping?.cancel()
        }
        signal.yield()
    }

    /// Waits for ``wake(endsDelay:)``; returns `false` when the task is cancelled.
    func waitForWork() async -> Bool {
        for await _ in signals { return !Task.isCancelled }
        return false
    }

    /// Waits after a failure, twice as long after each further one; returns `false` when the task is cancelled.
    func waitToRetry() async -> Bool {
        let sleeping = Task { [sleep, delay] in _ = try? await sleep(delay) }
        self.sleeping = sleeping
        delay = min(delay * 2, delays.upperBound)
        await withTaskCancellationHandler {
            await sleeping.value
        } onCancel: {
            sleeping.cancel()
        }
        return !Task.isCancelled
    }

    /// Resets the delay after a success.
    func resetDelay() { delay = delays.lowerBound }
}
