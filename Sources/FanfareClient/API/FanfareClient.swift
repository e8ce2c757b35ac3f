public import Dispatch
import Synchronization

/// A connection to a broker, with the channels that the app hears over it.
///
/// ```swift
/// let client = FanfareClient(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
/// let channel = client.channel("userslist")
/// channel.bind("addUser") { event in print(event.data ?? "") }
/// channel.subscribe()
/// client.connect()
/// ```
///
/// A lost connection is opened again, and every channel subscribed to again, until
/// ``disconnect()``. From ``connect()`` to then the client keeps itself alive.
///
/// All methods may be called from any thread, also from callbacks. None of them blocks.
public final class FanfareClient: Sendable {
    /// The app's public key.
    public let key: String
    /// Where the broker listens.
    public let endpoint: Endpoint
    /// What the client does by itself, and its limits.
    public let options: ClientOptions

    let state: Mutex<ClientState>

    /// Makes a client; nothing happens before ``connect()``.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - endpoint: Where the broker listens.
    ///   - options: What the client does by itself, and its limits.
    public init(key: String, endpoint: Endpoint, options: ClientOptions = ClientOptions()) {
        self.key = key
        self.endpoint = endpoint
        self.options = options
        let settings = ClientSession.Settings(
            endpoint: endpoint,
            activityTimeout: options.activityTimeout,
            pongTimeout: options.pongTimeout,
            connectTimeout: options.connectTimeout,
            reconnects: options.reconnects,
            attemptCountMax: options.reconnectAttemptCountMax,
            backoff: options.backoff,
            signer: options.signer,
            authorizes: options.channelAuthorizer != nil,
            authenticates: options.userAuthenticator != nil,
            decrypter: options.decrypter,
            membersMax: options.membersMax,
            outbox: Outbox.Limits(
                countMax: options.clientEventQueueCountMax,
                bytesMax: options.clientEventQueueBytesMax,
                perSecond: options.clientEventsPerSecond,
                dataLengthMax: options.clientEventLengthMax
            )
        )
        state = Mutex(ClientState(session: ClientSession(settings: settings)))
    }

    // MARK: Connection

    /// Where the connection stands.
    public var status: ConnectionStatus { state.withLock { $0.session.status } }

    /// What the broker calls the connection; `nil` without one.
    ///
    /// A backend that is told it can leave this client out of what it triggers.
    public var socketID: String? {
        if case .connected(let socketID) = status { socketID } else { nil }
    }

    /// Connects, and stays connected until ``disconnect()``.
    ///
    /// While the client waits for its next attempt, that is made at once.
    public func connect() { act { $0.connect() } }

    /// Ends the connection, or any attempt at one, for good.
    ///
    /// Once this returns the status is `disconnected` and nothing more arrives, whatever was going
    /// on. Sequences end. Channels and callbacks stay, should ``connect()`` be called again.
    public func disconnect() { act { $0.disconnect() } }

    /// The status as a sequence: the current one first, then every change.
    public func statuses() -> ConnectionStates {
        let buffer = EventBuffer<ConnectionStatus>(limit: 64, policy: .keepsNewest)
        state.withLock { state in
            buffer.send(state.session.status)
            state.statusSequences.add(buffer)
        }
        return ConnectionStates(buffer: buffer)
    }

    /// Waits until the client is connected.
    ///
    /// - Returns: What the broker calls the connection.
    /// - Throws: A ``FanfareError`` when the client is or becomes disconnected, or when the broker
    ///   refuses it for good; `CancellationError` when the task is cancelled.
    @discardableResult
    public func waitUntilConnected() async throws -> String {
        for await status in statuses() {
            switch status {
            case .connected(let socketID): return socketID
            case .failed(let error): throw error
            case .disconnected: throw FanfareError.disconnected
            case .connecting, .waiting: break
            }
        }
        throw CancellationError()
    }

    /// Calls back with the old and the new status at each change, on the main actor.
    @discardableResult
    public func onStatusChange(
        perform:
            @escaping @MainActor @Sendable (_ old: ConnectionStatus, _ new: ConnectionStatus) ->
            Void
    ) -> Binding {
        onStatusChange(on: .main) { old, new in MainActor.assumeIsolated { perform(old, new) } }
    }

    /// Calls back with the old and the new status at each change, on a serial queue.
    @discardableResult
    public func onStatusChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (_ old: ConnectionStatus, _ new: ConnectionStatus) -> Void
    ) -> Binding {
        bindStatus(on: .queue(queue)) { perform($0.old, $0.new) }
    }

    func bindStatus(
        on place: CallbackExecutor,
        _ callback: @escaping @Sendable (StatusChange) -> Void
    ) -> Binding {
        add(to: \.statuses, on: place, callback)
    }

    // MARK: Settings

    /// Changes what the client does by itself, from its next connection or attempt on.
    ///
    /// For a facade whose settings may be changed at any time.
    ///
    /// - Parameter change: Changes the settings.
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

    /// What may be changed of a client that exists; see ``ClientOptions``.
    package struct Adjustment {
        /// Silence after which the client asks whether the broker is there.
        package var activityTimeout: Duration
        /// How long the answer may take.
        package var pongTimeout: Duration
        /// How long to wait before a lost connection is opened again.
        package var backoff: Backoff
        /// How often in a row that is tried; `nil` for as long as it takes.
        package var reconnectAttemptCountMax: Int?
    }
}
