import Dispatch
public import FanfareClient
import PusherProtocol
import Primitives

/// An in-process broker for tests; real clients connect to it without a network.
///
/// ```swift
/// let broker = ScriptedBroker()
/// let client = broker.client()
/// client.channel("userslist").bind("addUser") { event in print(event.data ?? "") }
/// client.subscribe("userslist")
/// client.connect()
/// try await broker.waitForSubscribers(to: "userslist")
/// try broker.trigger("addUser", on: "userslist", data: ["name": "Ann"])
/// try await broker.settle()
/// ```
///
/// It implements the protocol with the code of the real broker: all kinds of channels, presence, client events, users
/// and watchlists, cached events. ``clock`` is the clock of broker and clients; it stands still until the test advances
/// it.
///
/// All methods may be called from any thread, including callbacks of the clients.
public final class ScriptedBroker: Sendable {
    /// The response to a connection attempt.
    public enum Reception: Sendable, Equatable {
        /// The connection is accepted.
        case accept
        /// The client receives a `pusher:error` and a close with this code, such as 4001 or 4100.
        case refuse(code: Int, message: String)
        /// The connection fails, as with a wrong host name, address or certificate.
        case unreachable(reason: String)
        /// The server is no broker: it refuses the WebSocket upgrade.
        case refuseUpgrade(reason: String)
        /// There is no answer; the client times out by its own clock.
        case silence
    }

    struct State: ~Copyable {
        var broker: BrokerState
        var wires: [Int: Wire] = [:]
        var nextConnection = 1
        var reception = Reception.accept
        var isSilent = false
        var faults = Faults()
        var alarm: (id: Int, time: Duration)?
        /// The number of messages sent in either direction, to detect idleness.
        var activity = 0
        var callbacks = CallbacksOfClients()
    }

    /// The settings of the broker.
    public let settings: Settings
    /// The clock of the broker and of its clients.
    public let clock: ManualClock
    let state: Lock<State>
    let changes = ChangeNotifier()
    /// The serial queue of deliveries to clients, which must not happen inside the clients' own calls.
    let deliveries = DispatchQueue(label: "fanfare.testing.deliveries")

    /// Creates a broker that accepts connections at once.
    ///
    /// - Parameters:
    ///   - settings: The settings.
    ///   - clock: The clock; several brokers may share one.
    public init(_ settings: Settings = Settings(), clock: ManualClock = ManualClock()) {
        self.settings = settings
        self.clock = clock
        state = Lock(State(broker: BrokerState(settings)))
    }

    // MARK: Clients

    /// The endpoint for clients; no server listens there.
    public var endpoint: Endpoint { .plain(host: "scripted-broker.test") }

    /// The transport from clients to this broker.
    public var transport: ClientTransport { ClientTransport(Transport(broker: self)) }

    /// Returns options for a client of this broker: its transport, its clock and its signatures.
    ///
    /// - Parameter user: The user's ID, for presence channels and sign-ins; `nil` for none.
    /// - Returns: The options, which a test may change.
    public func clientOptions(as user: String? = nil) -> ClientOptions {
        var options = ClientOptions()
        options.network.transport = transport
        options.clock = clock.clientClock
        // A change of the machine's network would cause a ping that no test expects.
        options.network.checksConnectionOnChange = false
        options.authorization.channels = channelAuthorizer(as: user)
        if let user { options.authorization.user = userAuthenticator(as: user) }
        return options
    }

    /// Creates a client of this broker; it is not connected yet.
    ///
    /// - Parameters:
    ///   - user: The user's ID, for presence channels and sign-ins; `nil` for none.
    ///   - configure: Changes the options.
    /// - Returns: A real client.
    public func client(
        as user: String? = nil,
        _ configure: (inout ClientOptions) -> Void = { _ in }
    ) -> Fanfare {
        var options = clientOptions(as: user)
        configure(&options)
        return Fanfare(key: settings.key, endpoint: endpoint, options: options)
    }

    private struct Transport: TransportOpener {
        let broker: ScriptedBroker

        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            broker.clientOpened(request, receiver)
        }
    }

    // MARK: From clients

    private func clientOpened(
        _ request: TransportRequest,
        _ receiver: any TransportReceiver
    ) -> any TransportConnection {
        act { state, now in
            let number = state.nextConnection
            state.nextConnection += 1
            let line = ScriptedConnection(number, of: self)
            var wire = Wire()
            wire.receiver = receiver
            state.wires[number] = wire
            state.callbacks.add(receiver) { [weak self] in self?.changes.notify() }
            guard !state.isSilent else { return line }
            switch state.reception {
            case .accept:
                deliveries.async { receiver.transportOpened() }
                let prefix = request.endpoint.pathPrefix
                state.broker.open(number, target: request.target, pathPrefix: prefix, at: now)
            case .refuse(let code, let message):
                deliveries.async { receiver.transportOpened() }
                state.broker.refuse(number, PusherCode(rawValue: code), message)
            case .unreachable(let reason): end(number, .unreachable(reason: reason), &state)
            case .refuseUpgrade(let reason): end(number, .upgradeRefused(reason: reason), &state)
            case .silence: break
            }
            return line
        }
    }

    func clientSent(_ text: [UInt8], over number: Int) {
        act { state, now in
            let fault = state.faults.next(for: WireMessage(.toBroker, over: number, text))
            var due = now
            switch fault {
            case .drop: return
            case .cut: return cut(number, &state, at: now)
            case .delay(let time): due += time
            case .duplicate: state.wires[number]?.toBroker.put(.text(text), due: due)
            case nil: break
            }
            state.wires[number]?.toBroker.put(.text(text), due: due)
        }
    }

    func clientClosed(_ number: Int, code: UInt16) {
        act { state, now in
            // A closed client receives nothing, even if its close frame is lost.
            state.wires[number]?.receiver = nil
            state.wires[number]?.toBroker.put(.close(code: Int(code)), due: now)
        }
    }

    func clientReads(_ number: Int, _ isReading: Bool) {
        act { state, _ in state.wires[number]?.toClient.isPaused = !isReading }
    }

    // MARK: To clients

    /// Performs a change, then delivers everything that is due.
    @discardableResult
    func act<Outcome: Sendable, Failure: Error>(
        _ change: (inout State, Duration) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        defer { changes.notify() }
        return try state.withLock { (state) throws(Failure) in
            let now = clock.now.offset
            defer { run(&state, at: now) }
            state.activity += 1
            return try change(&state, now)
        }
    }

    /// Delivers everything that is due, including the consequences.
    private func run(_ state: inout State, at now: Duration) {
        state.broker.tick(at: now)
        var isMoving = true
        while isMoving {
            isMoving = false
            for number in state.wires.keys.sorted() {
                for sending in state.wires[number]?.toBroker.take(at: now) ?? [] {
                    isMoving = true
                    arrive(sending, over: number, &state, at: now)
                }
            }
            for (number, output) in state.broker.takeOutputs() {
                isMoving = true
                send(output, over: number, &state, at: now)
            }
        }
        for number in state.wires.keys.sorted() { deliver(over: number, &state, at: now) }
        setAlarm(&state, at: now)
    }

    private func arrive(
        _ sending: Wire.ClientOutput,
        over number: Int,
        _ state: inout State,
        at now: Duration
    ) {
        guard !state.isSilent else { return }
        switch sending {
        case .text(let text): state.broker.receive(text, from: number, at: now)
        case .close(let code):
            state.broker.removeConnection(number, code: code, at: now)
            state.wires[number] = nil
        }
    }

    private func send(
        _ output: BrokerState.Output,
        over number: Int,
        _ state: inout State,
        at now: Duration
    ) {
        guard let waiting = state.wires[number]?.toClient.count, !state.isSilent else { return }
        guard case .text(let text) = output else {
            state.wires[number]?.toClient.put(output, due: now)
            return
        }
        if waiting >= settings.messagesWaitingMax {
            let reason = "\(waiting) messages wait for this client"
            return state.broker.close(number, .overCapacity, reason, at: now)
        }
        var due = now
        switch state.faults.next(for: WireMessage(.toClient, over: number, text)) {
        case .drop: return
        case .cut: return cut(number, &state, at: now)
        case .delay(let time): due += time
        case .duplicate: state.wires[number]?.toClient.put(output, due: due)
        case nil: break
        }
        state.wires[number]?.toClient.put(output, due: due)
    }

    private func deliver(over number: Int, _ state: inout State, at now: Duration) {
        for output in state.wires[number]?.toClient.take(at: now) ?? [] {
            guard let receiver = state.wires[number]?.receiver else { continue }
            switch output {
            case .text(let text): deliveries.async { receiver.transportReceived(text.span) }
            case .end(let closure): end(number, closure, &state)
            }
        }
    }

    /// Ends a connection at once, as a network failure does.
    func cut(_ number: Int, _ state: inout State, at now: Duration) {
        state.broker.removeConnection(number, code: nil, at: now)
        end(number, .cut(reason: "the test has cut it"), &state)
    }

    /// Reports the end of a connection to its client.
    private func end(_ number: Int, _ closure: TransportClosure, _ state: inout State) {
        let wire = state.wires.removeValue(forKey: number)
        guard let receiver = wire?.receiver else { return }
        deliveries.async { receiver.transportClosed(closure) }
    }

    /// Sets the clock's alarm for the next delivery or tick.
    private func setAlarm(_ state: inout State, at now: Duration) {
        let arrivals = state.wires.values.compactMap(\.nextArrival)
        let next = (arrivals + [state.broker.nextTick(after: now)].compactMap { $0 }).min()
        guard next != state.alarm?.time else { return }
        if let alarm = state.alarm { clock.cancelAlarm(alarm.id) }
        state.alarm = next.map { time in
            (clock.setAlarm(at: time) { [weak self] in self?.alarmRang() }, time)
        }
    }

    private func alarmRang() {
        act { state, _ in state.alarm = nil }
    }
}
