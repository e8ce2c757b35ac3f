import Synchronization

/// Queries of the clients' state, and waits for a state.
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
}
