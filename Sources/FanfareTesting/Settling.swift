public import Dispatch
import FanfareClient
import Synchronization

/// Waits until broker and clients are idle.
extension ScriptedBroker {
    private static let roundsMax = 2_000

    /// Waits until nothing is in transit: sent messages have arrived, and the clients' callbacks have returned.
    ///
    /// It does not wait for delayed messages or for tasks of the app that read sequences; use
    /// ``wait(for:within:isolation:until:)`` for those.
    ///
    /// - Parameter queues: The queues of the app whose current blocks must also run, such as blocks that callbacks have
    ///   added.
    /// - Throws: ``FanfareTestingError/notSettled(rounds:)`` if every message causes another one;
    ///   ``FanfareTestingError/timedOut(waitingFor:within:seen:)`` if a callback does not return within 30 seconds of
    ///   real time; or `CancellationError`.
    public func settle(_ queues: [DispatchQueue] = [.main]) async throws {
        try await settle(queues, within: .seconds(30))
    }

    /// Settles, with a timeout in real time for the callbacks.
    package func settle(_ queues: [DispatchQueue], within patience: Duration) async throws {
        for _ in 0..<Self.roundsMax {
            let before = state.withLock { $0.activity }
            await pass(deliveries)
            try await wait(for: "callbacks of the clients to return", within: patience) {
                pendingCallbackCount == 0 && !clock.hasBusyTimers
            }
            for queue in queues { await pass(queue) }
            let isIdle = state.withLock { $0.activity == before }
            if isIdle, pendingCallbackCount == 0 { return }
        }
        throw FanfareTestingError.notSettled(rounds: Self.roundsMax)
    }

    /// Settles, then advances the clock from one deadline to the next and settles at each.
    ///
    /// A client that reconnects meanwhile does so while the clock stands still at that instant, and its next timeouts
    /// begin there. This does not wait for authorisation requests or for the app's own tasks.
    ///
    /// - Parameters:
    ///   - duration: Not negative.
    ///   - queues: The queues of the app whose current blocks must also run.
    /// - Throws: The errors of ``settle(_:)``.
    public func advance(by duration: Duration, _ queues: [DispatchQueue] = [.main]) async throws {
        precondition(duration >= .zero, "the duration is negative")
        try await settle(queues)
        let end = clock.now.advanced(by: duration)
        while let deadline = clock.nextDeadline, deadline < end {
            clock.advance(to: deadline)
            try await settle(queues)
        }
        clock.advance(to: end)
        try await settle(queues)
    }

    private var pendingCallbackCount: Int { state.withLock { $0.callbacks.count } }

    /// Waits until the current blocks of a queue have run.
    private func pass(_ queue: DispatchQueue) async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }
}

/// The pending callbacks of the clients that have connected.
struct CallbacksOfClients: Sendable {
    private struct Reference: Sendable {
        /// Retained by the client, and by its callbacks until they have returned.
        weak let calls: PendingCallbacks?
    }

    private var clients: [Reference] = []

    var count: Int { clients.reduce(0) { $0 + ($1.calls?.count ?? 0) } }

    /// Adds a connection's client if it is new; `whenIdle` is called each time all callbacks of the client have
    /// returned.
    mutating func add(
        _ receiver: any TransportReceiver,
        whenIdle: @escaping @Sendable () -> Void
    ) {
        guard let calls = (receiver as? any PendingCallbacksReporting)?.pendingCallbacks,
            !clients.contains(where: { $0.calls === calls })
        else { return }
        clients.removeAll { $0.calls == nil }
        clients.append(Reference(calls: calls))
        calls.whenIdle(whenIdle)
    }
}
