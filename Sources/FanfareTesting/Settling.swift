public import Dispatch
import FanfareClient
import Synchronization

/// Waits until broker and clients are idle.
extension ScriptedBroker {
    private static let roundsMax = 2_000

    /// Waits until nothing is in transit: sent messages have arrived, and the callbacks of the clients have returned.
    ///
    /// It does not wait for delayed messages, nor for tasks of the app that read sequences: see
    /// ``wait(for:within:isolation:until:)`` for those.
    ///
    /// - Parameter queues: The queues of the app whose current blocks are waited for too, such as those that callbacks
    ///   have added.
    /// - Throws: ``FanfareTestingError/notSettled(rounds:)`` if every message is answered;
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

    /// Settles, and advances the clock from one deadline to the next, settling at each.
    ///
    /// So a client that reconnects in this time does so while the clock stands still at that moment, and its next timeouts
    /// begin there. Authorization requests and the app's own tasks are not waited for.
    ///
    /// - Parameters:
    ///   - duration: Not negative.
    ///   - queues: The queues of the app whose current blocks are waited for too.
    /// - Throws: What ``settle(_:)`` throws.
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

    /// Adds the client that a connection belongs to, if it is not known yet.
    ///
    /// - Parameters:
    ///   - receiver: The client's end of the connection.
    ///   - whenIdle: Called whenever all callbacks of the client have returned.
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
