/// Asks a backend, in time and more than once where that may help.
struct Attempts: Sendable {
    /// How often to ask, and how long to wait in between.
    var retries: AuthorizationRetries
    /// How long one attempt may take.
    var timeout: Duration
    var clock: ClientClock

    /// Asks until there is an answer, or no hope of one.
    ///
    /// - Parameter ask: One attempt.
    /// - Returns: The answer, or why there is none; `nil` when the task was cancelled.
    func run<Answer: Sendable>(
        _ ask: @escaping @Sendable () async throws -> Answer
    ) async -> Result<Answer, AuthorizationFailure>? {
        var generator = SystemRandomNumberGenerator()
        var failures = 0
        while true {
            guard let outcome = await attempt(ask), !Task.isCancelled else { return nil }
            guard case .failure(let failure) = outcome, failure.isTemporary,
                failures + 1 < retries.attemptCountMax
            else { return outcome }
            let delay = retries.backoff.delay(failures: failures, using: &generator)
            failures += 1
            guard (try? await clock.sleep(clock.now() + delay)) != nil else { return nil }
        }
    }

    /// One attempt, which is not waited for longer than allowed, even if it ignores its cancellation.
    private func attempt<Answer: Sendable>(
        _ ask: @escaping @Sendable () async throws -> Answer
    ) async -> Result<Answer, AuthorizationFailure>? {
        let outcomes = EventBuffer<Result<Answer, AuthorizationFailure>>(
            limit: 2,
            policy: .keepsNewest
        )
        let asking = Task { outcomes.send(await Self.outcome(of: ask)) }
        let end = clock.now() + timeout
        let timing = Task {
            guard (try? await clock.sleep(end)) != nil else { return }
            outcomes.send(.failure(.timedOut(after: timeout)))
        }
        defer {
            asking.cancel()
            timing.cancel()
        }
        return try? await outcomes.next()
    }

    private static func outcome<Answer>(
        of ask: @Sendable () async throws -> Answer
    ) async -> Result<Answer, AuthorizationFailure> {
        do {
            return .success(try await ask())
        } catch let failure as AuthorizationFailure {
            return .failure(failure)
        } catch {
            return .failure(.failed("\(error)"))
        }
    }
}

/// How often a backend that cannot answer is asked, and how long to wait in between.
public struct AuthorizationRetries: Sendable, Hashable {
    /// The most requests for one answer, the first included.
    public var attemptCountMax: Int
    /// How long to wait before the next one: a random time from a window that doubles.
    public var backoff: Backoff

    /// Asks four times at most, with up to one, two and four seconds in between.
    ///
    /// - Parameters:
    ///   - attemptCountMax: The most requests for one answer, at least one.
    ///   - backoff: How long to wait before the next one.
    public init(
        attemptCountMax: Int = 4,
        backoff: Backoff = Backoff(floor: .zero, window: .seconds(1), cap: .seconds(10))
    ) {
        precondition(attemptCountMax > 0, "nobody would be asked")
        self.attemptCountMax = attemptCountMax
        self.backoff = backoff
    }
}
