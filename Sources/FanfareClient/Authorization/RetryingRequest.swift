/// Runs a request to a backend with a timeout and retries.
struct RetryingRequest: Sendable {
    /// The most attempts, including the first.
    var attemptCountMax: Int
    /// The delay before the next attempt.
    var backoff: Backoff
    /// The time limit of one attempt.
    var timeout: Duration
    var clock: ClientClock

    /// Runs the request until it succeeds, fails permanently or has used up its attempts; `nil` when the task is
    /// cancelled.
    func run<Response: Sendable>(
        _ request: @escaping @Sendable () async throws -> Response
    ) async -> Result<Response, AuthorizationFailure>? {
        var generator = SystemRandomNumberGenerator()
        var failures = 0
        while true {
            guard let outcome = await attempt(request), !Task.isCancelled else { return nil }
            guard case .failure(let failure) = outcome, failure.isTemporary,
                failures + 1 < attemptCountMax
            else { return outcome }
            let delay = backoff.delay(failures: failures, using: &generator)
            failures += 1
            guard (try? await clock.sleep(clock.now() + delay)) != nil else { return nil }
        }
    }

    /// Runs one attempt.
    ///
    /// Returns at the timeout even if the attempt ignores cancellation.
    private func attempt<Response: Sendable>(
        _ request: @escaping @Sendable () async throws -> Response
    ) async -> Result<Response, AuthorizationFailure>? {
        let outcomes = EventBuffer<Result<Response, AuthorizationFailure>>(
            policy: .keepsNewest(limit: 2)
        )
        let running = Task { outcomes.send(await Self.outcome(of: request)) }
        let end = clock.now() + timeout
        let timing = Task {
            guard (try? await clock.sleep(end)) != nil else { return }
            outcomes.send(.failure(.timedOut(after: timeout)))
        }
        defer {
            running.cancel()
            timing.cancel()
        }
        return try? await outcomes.next()
    }

    private static func outcome<Response>(
        of request: @Sendable () async throws -> Response
    ) async -> Result<Response, AuthorizationFailure> {
        do {
            return .success(try await request())
        } catch let failure as AuthorizationFailure {
            return .failure(failure)
        } catch let refusal as AuthorizationRefusal {
            return .failure(.refused(status: refusal.status, body: refusal.body))
        } catch {
            return .failure(.failed("\(error)"))
        }
    }
}
