import FanfareOutbox

/// Sends the events of a store one at a time, in order.
struct OutboxSender: Sendable {
    /// The most events read from the store at a time.
    private static let countMax = 32
    /// The delay after the first failure, which doubles with each further one, and its maximum.
    private static let (delayMin, delayMax) = (Duration.milliseconds(200), Duration.seconds(30))

    let store: any OutboxStore
    let send: @Sendable (OutboxEvent) async throws(FanfareAPIError) -> Void
    let sleep: @Sendable (Duration) async throws -> Void
    let report: @Sendable (BrokerOutbox.Report) -> Void
    let pending: PendingTriggers

    /// Sends events until the store is empty; returns `false` when the task was cancelled.
    func sendAll() async -> Bool {
        while let events = await reading({ try await store.first(Self.countMax) }) {
            if events.isEmpty { return true }
            for event in events {
                guard let outcome = await outcome(of: event) else { return false }
                guard await reading({ try await store.remove(event.key) }) != nil else {
                    return false
                }
                pending.settle(event.key, outcome)
                if case .failure(let error) = outcome { report(.refused(event, error)) }
            }
        }
        return false
    }

    /// Sends an event until the broker accepts or refuses it; returns `nil` when the task was cancelled.
    private func outcome(of event: OutboxEvent) async -> Result<Void, FanfareAPIError>? {
        var failures = 0
        while true {
            do throws(FanfareAPIError) {
                try await send(event)
                return .success(())
            } catch {
                if error.isAboutTheEvent { return .failure(error) }
                if Task.isCancelled { return nil }
                let delay = Self.delay(failures)
                failures += 1
                report(.delayed(event, error, delay: delay))
                guard (try? await sleep(delay)) != nil else { return nil }
            }
        }
    }

    /// Calls the store until it succeeds; returns `nil` when the task was cancelled.
    private func reading<Value: Sendable>(
        _ call: @Sendable () async throws -> Value
    ) async -> Value? {
        var failures = 0
        while true {
            do {
                return try await call()
            } catch {
                if Task.isCancelled { return nil }
                let delay = Self.delay(failures)
                failures += 1
                report(.storeFailed(error, delay: delay))
                guard (try? await sleep(delay)) != nil else { return nil }
            }
        }
    }

    private static func delay(_ failures: Int) -> Duration {
        min(delayMin * (1 << min(failures, 10)), delayMax) * Double.random(in: 0.5...1)
    }
}

extension FanfareAPIError {
    /// Whether the broker refuses the event itself, so that it would refuse it again.
    ///
    /// Other refusals concern the app, its limits or the broker's address; the event can be sent once they are fixed.
    fileprivate var isAboutTheEvent: Bool {
        switch self {
        case .refused(let status, _): [400, 413, 422].contains(status)
        case .invalidArgument, .encoding: true
        case .invalidURL, .unreachable, .timedOut, .connectionLost, .unexpectedAnswer,
            .answerTooLong, .cancelled:
            false
        }
    }
}
