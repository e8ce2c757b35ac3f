package import Primitives

/// A client of a broker: one connection, with the channels subscribed over it.
///
/// ```swift
/// let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
/// let channel = client.channel("userslist")
/// channel.bind("addUser") { event in print(event.data ?? "") }
/// channel.subscribe()
/// client.connect()
/// ```
///
/// Between ``connect()`` and ``disconnect()`` the client is retained. After it loses the connection, it reconnects and
/// subscribes again.
///
/// All methods may be called from any thread, including callbacks. None blocks.
public final class Fanfare: Sendable {
    /// The app's public key.
    package let key: String
    /// The broker's address.
    package let endpoint: Endpoint
    /// The client's settings and limits.
    package let options: ClientOptions

    /// The scenes of the app that use the client, and whether each is in the foreground, for `FanfareUI`.
    package let scenes = Lock<[ObjectIdentifier: Bool]>([:])
    let state: Lock<ClientState>
    let outboxWriter: OutboxWriter?
    let positionWriter: PositionWriter?
    /// The actor of callbacks that are not isolated to an actor.
    let callbackActor = CallbackActor()

    /// Creates a client; it does nothing before ``connect()``.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - endpoint: The broker's address.
    ///   - options: The client's settings and limits.
    public init(key: String, endpoint: Endpoint, options: ClientOptions = ClientOptions()) {
        self.key = key
        self.endpoint = endpoint
        self.options = options
        let settings = ClientSession.Settings(
            endpoint: endpoint,
            activityTimeout: options.network.activityTimeout,
            pongTimeout: options.network.pongTimeout,
            connectTimeout: options.network.connectTimeout,
            attemptCountMax: options.reconnection.attemptCountMax,
            backoff: options.reconnection.backoff,
            signer: options.signer,
            authorizes: options.authorization.channels != nil,
            authenticates: options.authorization.user != nil,
            decrypter: options.decrypter,
            membersMax: options.limits.membersMax,
            resubscribeGrace: options.recovery.resubscribeGrace,
            outbox: Outbox.Limits(
                countMax: options.limits.clientEventQueueCountMax,
                bytesMax: options.limits.clientEventQueueBytesMax,
                perSecond: options.limits.clientEventsPerSecond,
                dataLengthMax: options.limits.clientEventLengthMax
            )
        )
        var session = ClientSession(settings: settings)
        outboxWriter = options.recovery.outbox.map(OutboxWriter.init)
        session.outbox.isHeld = outboxWriter != nil
        positionWriter = options.recovery.positions.map(PositionWriter.init)
        session.awaitsPositions = positionWriter != nil
        state = Lock(ClientState(session: session))
    }

    // MARK: Connection

    /// The state of the connection.
    public var status: ConnectionStatus { state.withLock { $0.session.status } }

    /// The connection's socket ID; `nil` without a connection.
    ///
    /// The backend can pass it to exclude this client from an event that it triggers.
    public var socketID: String? {
        if case .connected(let socketID) = status { socketID } else { nil }
    }

    /// Connects, and stays connected until ``disconnect()``.
    ///
    /// If the client is waiting before its next attempt, the attempt starts at once.
    public func connect() {
        act { $0.connect() }
        loadOutbox()
        loadPositions()
    }

    /// Closes the connection or stops the attempts to open one.
    ///
    /// When this returns, the status is `disconnected` and no more events are received. Subscriptions, callbacks and
    /// sequences stay for the next ``connect()``.
    public func disconnect() { act { $0.disconnect() } }

    /// Closes the connection until ``connect()``, for an app that goes to the background.
    ///
    /// Subscriptions, callbacks, sequences, member lists and queued client events stay; waiting tasks keep waiting.
    /// After the next ``connect()``, sequences deliver what was missed, or a gap. Does nothing while the client is
    /// disconnected or has failed.
    public func suspend() { act { $0.suspend() } }

    /// Checks that the broker still answers, and reconnects at once if it does not.
    ///
    /// Without this call the client detects a lost network only by silence, by default after up to 150 seconds
    /// (``ClientOptions/Network/activityTimeout`` and ``ClientOptions/Network/pongTimeout``). Call it when the app
    /// comes to the foreground, when the network changes or when a user waits. If the client is waiting before its next
    /// attempt, the attempt starts at once.
    ///
    /// - Parameter limit: The time limit for the broker's answer.
    public func checkConnection(within limit: Duration = .seconds(5)) {
        act { $0.checkConnection(within: limit, at: options.clock.now()) }
    }

    /// Returns the status as a sequence: the current one first, then every change.
    ///
    /// A reader that is more than 64 changes behind misses the oldest, never the latest.
    ///
    /// - Returns: A sequence for one task.
    public func statuses() -> Updates<ConnectionStatus, Never> {
        let buffer = EventBuffer<ConnectionStatus>(policy: .keepsNewest(limit: 64))
        state.withLock { state in
            buffer.send(state.session.status)
            state.statusSequences.add(buffer)
        }
        return Updates(buffer)
    }

    /// Waits until the client is connected.
    ///
    /// - Returns: The connection's socket ID.
    /// - Throws: A ``FanfareError`` when the client is or becomes disconnected, or fails; `CancellationError` when the
    ///   task is cancelled.
    @discardableResult
    public func waitUntilConnected() async throws -> String {
        for await status in statuses() {
            switch status {
            case .connected(let socketID): return socketID
            case .failed(let error): throw error
            case .disconnected: throw FanfareError.disconnected
            case .connecting, .waiting, .suspended: break
            }
        }
        throw CancellationError()
    }

    /// Calls `perform` with each new status.
    ///
    /// - Parameter perform: Called at each change, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onStatusChange(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (ConnectionStatus) -> Void
    ) -> ListenerToken {
        onStatusChange(Callback(perform, orElse: callbackActor).compactMap { $0.new })
    }

    /// Calls `perform` with each error that leaves the connection open.
    ///
    /// These are errors reported by the broker, refused subscriptions, messages that cannot be parsed, and events that
    /// cannot be decoded.
    ///
    /// - Parameter perform: Called in order, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onError(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (FanfareError) -> Void
    ) -> ListenerToken {
        listen(to: \.errors, perform)
    }

    // MARK: Settings

    /// Changes the settings from the next connection or attempt on, for a facade whose settings can change at any time.
    package func adjust(_ change: (inout Adjustment) -> Void) {
        act { session in
            var adjustment = Adjustment(
                activityTimeout: session.settings.activityTimeout,
                pongTimeout: session.settings.pongTimeout,
                backoff: session.settings.backoff,
                reconnectAttemptCountMax: session.settings.attemptCountMax
            )
            change(&adjustment)
            session.settings.activityTimeout = adjustment.activityTimeout
            session.settings.pongTimeout = adjustment.pongTimeout
            session.settings.backoff = adjustment.backoff
            session.settings.attemptCountMax = adjustment.reconnectAttemptCountMax
            return []
        }
    }

    /// The settings of an existing client that may change; see ``ClientOptions``.
    package struct Adjustment {
        /// The silence after which the client sends a ping.
        package var activityTimeout: Duration
        /// The time to wait for an answer to a ping.
        package var pongTimeout: Duration
        /// The delay before each reconnection.
        package var backoff: Backoff
        /// The most reconnection attempts in a row; `nil` for no limit.
        package var reconnectAttemptCountMax: Int?
    }
}
