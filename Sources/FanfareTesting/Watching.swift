import Synchronization

/// What the test sees of the clients, and how it waits for them.
extension ScriptedBroker {
    /// An open connection.
    public struct Connection: Sendable, Equatable {
        /// What the broker calls it.
        public let socketID: String
        /// The channels that it is subscribed to, by name.
        public let channels: [String]
        /// The user that it is signed in as; `nil` for nobody.
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

    /// The socket IDs of those who are subscribed to a channel, in the order in which they came.
    public func subscribers(of channel: String) -> [String] {
        state.withLock { $0.broker.subscribers(of: channel).map(Self.text) }
    }

    /// The ids of the users on a presence channel, sorted.
    public func members(of channel: String) -> [String] {
        state.withLock { $0.broker.members(of: channel) }
    }

    /// What clients have done, the oldest first; see ``Settings/actionsMax``.
    public var actions: [ClientAction] { state.withLock { $0.broker.actions } }

    /// The data of the events that clients have sent to a channel, the oldest first.
    ///
    /// - Parameters:
    ///   - name: The event's name, which begins with `client-`.
    ///   - channel: The channel's name.
    /// - Returns: The data of each; JSON text or a plain text, and `nil` for none.
    public func clientEvents(_ name: String, on channel: String) -> [String?] {
        actions.compactMap { action in
            guard case .event(name, channel, let data) = action.kind else { return nil }
            return .some(data)
        }
    }

    // MARK: Waiting

    /// Waits for something that clients or the app bring about.
    ///
    /// The condition is looked at whenever a client does something, and every few milliseconds.
    ///
    /// - Parameters:
    ///   - what: The condition in words, for the error: "waited in vain for …".
    ///   - patience: The real time after which this gives up.
    ///   - isolation: Where the condition is looked at: the caller's actor.
    ///   - condition: The condition, which may ask this broker and the app.
    /// - Throws: ``FanfareTestingError/waitedInVain(for:within:seen:)``, or `CancellationError`.
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

    /// Waits until so many connections are open.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - patience: The real time after which this gives up.
    /// - Throws: ``FanfareTestingError/waitedInVain(for:within:seen:)``, or `CancellationError`.
    public func waitForConnections(
        _ count: Int = 1,
        within patience: Duration = .seconds(30)
    ) async throws {
        try await wait(for: "\(count) connections", within: patience) {
            connections.count == count
        }
    }

    /// Waits until so many clients are subscribed to a channel, and know it.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - channel: The channel's name.
    ///   - patience: The real time after which this gives up.
    /// - Throws: ``FanfareTestingError/waitedInVain(for:within:seen:)``, or `CancellationError`.
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
