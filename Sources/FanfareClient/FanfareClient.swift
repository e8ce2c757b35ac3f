public import Dispatch
import Logging
import PusherProtocol
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

    private let state: Mutex<State>

    private struct State: Sendable {
        var session: ClientSession
        var connection: (any TransportConnection)?
        var connectionNumber = 0
        var timer: Task<Void, Never>?
        var timerNumber = 0
        var queues: [ObjectIdentifier: CallbackQueue] = [:]
        /// Queues with more waiting than they may; while there are any, nothing is read.
        var overloaded: Set<ObjectIdentifier> = []
        var events = EventListeners()
        var statuses = Listeners<StatusChange>()
        var statusSequences = Listeners<ConnectionStatus>()
        var errors = Listeners<FanfareError>()
        /// Tasks that wait for a subscription, by channel.
        var waiters: [String: Listeners<Void>] = [:]
        var log: [(Logger.Level, String)] = []
    }

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
            backoff: options.backoff,
            signer: options.signer
        )
        state = Mutex(State(session: ClientSession(settings: settings)))
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
    public func statuses() -> Statuses {
        let buffer = EventBuffer<ConnectionStatus>(limit: 64, policy: .keepsNewest)
        state.withLock { state in
            buffer.send(state.session.status)
            state.statusSequences.add(buffer)
        }
        return Statuses(buffer: buffer)
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
        add(to: \.statuses, on: queue) { perform($0.old, $0.new) }
    }

    // MARK: Channels

    /// A channel, whether subscribed to or not; asking for it does nothing else.
    public func channel(_ name: String) -> Channel { Channel(name: name, client: self) }

    /// Subscribes to a channel now, or as soon as the client is connected, and again with each
    /// further connection.
    ///
    /// An event may arrive as soon as this is called. Whoever needs the very first one binds to
    /// ``channel(_:)`` before.
    @discardableResult
    public func subscribe(_ name: String) -> Channel { channel(name).subscribe() }

    /// Unsubscribes from a channel: its sequences end, its callbacks stay and rest.
    public func unsubscribe(_ name: String) { channel(name).unsubscribe() }

    func subscribe(to channel: String) { act { $0.subscribe(to: channel) } }

    func unsubscribe(from channel: String) { act { $0.unsubscribe(from: channel) } }

    func isSubscribed(to channel: String) -> Bool {
        state.withLock { $0.session.subscription(to: channel) == .subscribed }
    }

    func waitUntilSubscribed(to channel: String) async throws {
        let buffer = EventBuffer<Void>(limit: 1, policy: .keepsNewest)
        try state.withLock { state in
            switch state.session.subscription(to: channel) {
            case .subscribed: buffer.send(())
            case nil, .leaving: throw FanfareError.unsubscribed(channel: channel)
            case .wanted, .pending, .refused:
                if case .failed(let error) = state.session.status { throw error }
                state.waiters[channel, default: Listeners()].add(buffer)
            }
        }
        guard try await buffer.next() != nil else { throw CancellationError() }
    }

    /// Whether a task waits for a subscription.
    func hasWaiters(for channel: String) -> Bool {
        state.withLock { $0.waiters[channel] != nil }
    }

    // MARK: Faults

    /// Calls back with what goes wrong while the connection goes on, on the main actor.
    ///
    /// These are errors that the broker reports, subscriptions that it refuses, messages that are
    /// not understood, and events that are not what a callback expects.
    @discardableResult
    public func onError(
        perform: @escaping @MainActor @Sendable (FanfareError) -> Void
    ) -> Binding {
        onError(on: .main) { error in MainActor.assumeIsolated { perform(error) } }
    }

    /// Calls back with what goes wrong while the connection goes on, on a serial queue.
    @discardableResult
    public func onError(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        add(to: \.errors, on: queue, perform)
    }

    func report(_ error: FanfareError) { act { _ in [.report(error)] } }

    // MARK: Events

    func bind(
        _ topic: Topic,
        on queue: DispatchQueue,
        _ callback: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        add(to: \.events[topic], on: queue, callback)
    }

    func buffer(_ topic: Topic, limit: Int) -> EventBuffer<ChannelEvent> {
        let buffer = EventBuffer<ChannelEvent>(limit: limit, policy: .endsWithError)
        state.withLock { $0.events[topic].add(buffer) }
        return buffer
    }

    private func add<Value: Sendable>(
        to listeners: any WritableKeyPath<State, Listeners<Value>> & Sendable,
        on queue: DispatchQueue,
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> Binding {
        state.withLock { state in
            let binding = Binding(queue: callbackQueue(queue, &state)) { [weak self] binding in
                let removed = self?.state.withLock { $0[keyPath: listeners].remove(binding) }
                // What the callback owned ends here, where no lock is held.
                _ = removed
            }
            state[keyPath: listeners].add(binding, callback)
            return binding
        }
    }

    private func callbackQueue(_ queue: DispatchQueue, _ state: inout State) -> CallbackQueue {
        let id = ObjectIdentifier(queue)
        if let known = state.queues[id] { return known }
        let new = CallbackQueue(queue) { [weak self] load in self?.drained(id, load) }
        state.queues[id] = new
        return new
    }

    // MARK: The session and the world

    /// Takes what a connection brought, unless it is not the client's connection any more.
    func take(
        from number: Int,
        _ input: (inout ClientSession, Duration) -> [SessionEffect]
    ) {
        act(if: { $0.connectionNumber == number }) { input(&$0, self.options.clock.now()) }
    }

    private func timerFired(_ number: Int) {
        act(if: { $0.timerNumber == number }) { $0.timerFired(at: self.options.clock.now()) }
    }

    /// Gives the session an input and does what it wants done.
    ///
    /// All of that happens under the lock, which is what keeps it in order: nothing of it blocks
    /// or calls back into the client.
    private func act(
        if isWanted: (State) -> Bool = { _ in true },
        _ input: (inout ClientSession) -> [SessionEffect]
    ) {
        let log = state.withLock { state in
            guard isWanted(state) else { return [] as [(Logger.Level, String)] }
            let old = state.session.status
            var previous = old
            for effect in input(&state.session) { perform(effect, &previous, &state) }
            return exchange(&state.log, with: [])
        }
        for (level, line) in log { options.logger.log(level: level, "\(line)") }
    }

    private func perform(
        _ effect: SessionEffect,
        _ previous: inout ConnectionStatus,
        _ state: inout State
    ) {
        switch effect {
        case .open: open(&state)
        case .close(let code, let reason):
            state.connectionNumber += 1
            state.connection?.close(code: code, reason: reason)
            state.connection = nil
        case .send(let message):
            var text: [UInt8] = []
            message.append(to: &text)
            state.connection?.send(text)
        case .startTimer(let time): startTimer(time, &state)
        case .stopTimer:
            state.timerNumber += 1
            state.timer?.cancel()
            state.timer = nil
        case .status(let status):
            let change = StatusChange(old: exchange(&previous, with: status), new: status)
            tell(change, &state)
        case .deliver(let event):
            var posts: [(CallbackQueue, CallbackQueue.Load)] = []
            state.events.send(event) { posts.append(($0, $1)) }
            for (queue, load) in posts { note(load, of: queue, &state) }
        case .report(let error):
            state.log.append((.warning, error.description))
            state.errors.send(error) { _, _ in }
        case .subscribed(let channel):
            state.log.append((.debug, "subscribed to \(channel)"))
            state.waiters.removeValue(forKey: channel)?.send(()) { _, _ in }
        case .refused(let channel, let error):
            state.waiters[channel]?.finish(throwing: error)
            state.waiters[channel] = nil
            if case .unsubscribed = error {
                state.events.finish(channel: channel)
            } else {
                state.log.append((.warning, error.description))
                state.errors.send(error) { _, _ in }
            }
        }
    }

    private func open(_ state: inout State) {
        state.connectionNumber += 1
        let url = ConnectionURL(key: key, client: "fanfare-swift")
        let request = TransportRequest(
            endpoint: endpoint,
            target: url.target(pathPrefix: endpoint.pathPrefix),
            subprotocols: [],
            trust: options.trust,
            messageLengthMax: options.messageLengthMax,
            timeout: options.connectTimeout
        )
        let receiver = ConnectionReceiver(self, number: state.connectionNumber)
        state.connection = options.transport.open(request, receiver: receiver)
        if !state.overloaded.isEmpty { state.connection?.pauseReading() }
    }

    private func startTimer(_ time: Duration, _ state: inout State) {
        state.timerNumber += 1
        state.timer?.cancel()
        let number = state.timerNumber
        let clock = options.clock
        state.timer = Task {
            guard (try? await clock.sleep(time)) != nil else { return }
            self.timerFired(number)
        }
    }

    private func tell(_ change: StatusChange, _ state: inout State) {
        state.log.append((.debug, "\(endpoint): \(change.new)"))
        state.statuses.send(change) { _, _ in }
        state.statusSequences.send(change.new) { _, _ in }
        switch change.new {
        case .disconnected: end(nil, &state)
        case .failed(let error):
            state.log.append((.error, error.description))
            end(error, &state)
        case .waiting:
            // Not open any more, whichever side closed it.
            state.connection = nil
        case .connecting, .connected: break
        }
    }

    /// Ends what waits for events that will not come.
    private func end(_ error: FanfareError?, _ state: inout State) {
        state.connection = nil
        state.events.finish(throwing: error)
        for channel in state.waiters.keys {
            state.waiters[channel]?.finish(throwing: error ?? .disconnected)
        }
        state.waiters = [:]
    }

    // MARK: Slow callbacks

    private func note(
        _ load: CallbackQueue.Load,
        of queue: CallbackQueue,
        _ state: inout State
    ) {
        let isOverloaded =
            load.count > options.pendingCallbacksMax || load.bytes > options.pendingCallbackBytesMax
        let id = ObjectIdentifier(queue.queue)
        guard isOverloaded, state.overloaded.insert(id).inserted else { return }
        guard state.overloaded.count == 1 else { return }
        state.log.append(
            (.warning, "\(load.count) events wait for \(queue.queue.label): reading pauses")
        )
        state.session.setReading(false, at: options.clock.now())
        state.connection?.pauseReading()
    }

    private func drained(_ id: ObjectIdentifier, _ load: CallbackQueue.Load) {
        guard load.count <= options.pendingCallbacksMax / 2,
            load.bytes <= options.pendingCallbackBytesMax / 2
        else { return }
        state.withLock { state in
            guard state.overloaded.remove(id) != nil, state.overloaded.isEmpty else { return }
            state.session.setReading(true, at: options.clock.now())
            state.connection?.resumeReading()
        }
    }
}

/// A client's status before and after.
struct StatusChange: Sendable {
    let old: ConnectionStatus
    let new: ConnectionStatus
}
