public import Dispatch
import Primitives

/// Queries of the clients' state, and waits for a state or until broker and clients are idle.
extension ScriptedBroker {
    /// An open connection.
    public struct Connection: Sendable, Equatable {
        /// The socket ID.
        public let socketID: String
        /// The names of its channels, sorted.
        public let channels: [String]
        /// The user as whom it is signed in; `nil` for none.
        public let user: String?
    }

    /// The open connections, the oldest first.
    public var connections: [Connection] {
        state.withLock { state in
            state.broker.connections.map { number in
                Connection(
                    socketID: Self.text(number),
                    channels: state.broker.channels(of: number),
                    user: state.broker.user(of: number)
                )
            }
        }
    }

    /// The socket IDs of a channel's subscribers, in the order of their subscriptions.
    public func subscribers(of channel: String) -> [String] {
        state.withLock { $0.broker.subscribers(of: channel).map(Self.text) }
    }

    /// The IDs of the users on a presence channel, sorted.
    public func members(of channel: String) -> [String] {
        state.withLock { $0.broker.members(of: channel) }
    }

    /// The actions of clients, the oldest first; see ``Settings/actionsMax``.
    public var actions: [ClientAction] { state.withLock { $0.broker.actions } }

    /// The data of the client events on a channel, the oldest first.
    ///
    /// - Parameters:
    ///   - name: The event's name, which begins with `client-`.
    ///   - channel: The channel's name.
    /// - Returns: The data of each event, as JSON text or plain text; `nil` for an event without data.
    public func clientEvents(_ name: String, on channel: String) -> [String?] {
        actions.compactMap { action in
            guard case .event(name, channel, let data) = action.kind else { return nil }
            return .some(data)
        }
    }

    // MARK: Waiting

    /// Waits for a condition of the clients or the app.
    ///
    /// The condition is checked after each action of a client, and every few milliseconds.
    ///
    /// - Parameters:
    ///   - what: A description of the condition, for the error: "timed out waiting for …".
    ///   - patience: The timeout, in real time.
    ///   - isolation: The actor that evaluates the condition; by default the caller's.
    ///   - condition: The condition, which may call this broker and the app.
    /// - Throws: ``FanfareTestingError/timedOut(waitingFor:within:seen:)``, or `CancellationError`.
    public func wait(
        for what: String,
        within patience: Duration = .seconds(30),
        isolation: isolated (any Actor)? = #isolation,
        until condition: () -> Bool
    ) async throws {
        try await changes.wait(
            for: what,
            within: patience,
            isolation: isolation,
            seen: { self.actions.suffix(5).map(\.description) },
            until: condition
        )
    }

    /// Waits for a number of open connections.
    ///
    /// - Parameters:
    ///   - count: The number.
    ///   - patience: The timeout, in real time.
    /// - Throws: ``FanfareTestingError/timedOut(waitingFor:within:seen:)``, or `CancellationError`.
    public func waitForConnections(
        _ count: Int = 1,
        within patience: Duration = .seconds(30)
    ) async throws {
        try await wait(for: "\(count) connections", within: patience) {
            connections.count == count
        }
    }

    /// Waits until a channel has a number of subscribers that have received the acknowledgement.
    ///
    /// - Parameters:
    ///   - count: The number.
    ///   - channel: The channel's name.
    ///   - patience: The timeout, in real time.
    /// - Throws: ``FanfareTestingError/timedOut(waitingFor:within:seen:)``, or `CancellationError`.
    public func waitForSubscribers(
        _ count: Int = 1,
        to channel: String,
        within patience: Duration = .seconds(30)
    ) async throws {
        try await wait(for: "\(count) subscribers to \(channel)", within: patience) {
            subscribers(of: channel).count == count
        }
        try await settle([])
    }

    // MARK: Settling

    private static let settlingRoundsMax = 2_000

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
        for _ in 0..<Self.settlingRoundsMax {
            let before = state.withLock { $0.activity }
            await pass(deliveries)
            try await wait(for: "callbacks of the clients to return", within: patience) {
                pendingCallbackCount == 0 && !clock.hasBusyTimers
            }
            for queue in queues { await pass(queue) }
            let isIdle = state.withLock { $0.activity == before }
            if isIdle, pendingCallbackCount == 0 { return }
        }
        throw FanfareTestingError.notSettled(rounds: Self.settlingRoundsMax)
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
