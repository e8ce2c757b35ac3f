public import Dispatch
public import FanfareClient
import PusherProtocol
import Synchronization

/// A broker in the process of a test, which real clients talk to over no network at all.
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
/// It speaks the protocol as the real one does, and judges by the same code: all kinds of channels,
/// presence, client events, users and their watchlists, cached events. Its time is ``clock``, which
/// stands still until the test moves it, and so does that of its clients.
///
/// All methods may be called from any thread, also from callbacks of the clients.
public final class ScriptedBroker: Sendable {
    /// What happens to a client that connects.
    public enum Reception: Sendable, Equatable {
        /// It is greeted.
        case accept
        /// It is told a `pusher:error` and closed with that code, such as 4001 or 4100.
        case refuse(code: Int, message: String)
        /// It finds nobody: a name, an address or a certificate is wrong.
        case unreachable(reason: String)
        /// Something answers that is no broker.
        case refuseUpgrade(reason: String)
        /// It gets no answer at all, and gives up by its own clock.
        case silence
    }

    struct State {
        var broker: BrokerState
        var wires: [Int: Wire] = [:]
        var nextConnection = 1
        var reception = Reception.accept
        var isSilent = false
        var faults = Faults()
        var alarm: (id: Int, time: Duration)?
        /// Counts what has been sent in either direction, so that a pause can be told.
        var activity = 0
    }

    /// What the broker allows, and what it holds at the most.
    public let settings: Settings
    /// The time of the broker and of its clients.
    public let clock: ManualClock
    let state: Mutex<State>
    let changes = Changes()
    /// Where clients are told what arrives, one thing after the other: never from their own calls.
    private let deliveries = DispatchQueue(label: "fanfare.testing.deliveries")

    /// Makes a broker; clients may connect at once.
    ///
    /// - Parameters:
    ///   - settings: What it allows, and what it holds at the most.
    ///   - clock: The time to go by; two brokers may share it.
    public init(_ settings: Settings = Settings(), clock: ManualClock = ManualClock()) {
        self.settings = settings
        self.clock = clock
        state = Mutex(State(broker: BrokerState(settings)))
    }

    // MARK: Clients

    /// The address that clients are given; nothing listens there.
    public var endpoint: Endpoint { .plain(host: "scripted-broker.test") }

    /// What carries the connections of clients to this broker.
    public var transport: any ClientTransport { Transport(broker: self) }

    /// Options for a client of this broker: its transport, its clock and its signatures.
    ///
    /// - Parameter user: The user's id, as whom the client joins presence channels and signs in;
    ///   `nil` for nobody in particular.
    /// - Returns: The options, of which a test may change whatever it is about.
    public func clientOptions(as user: String? = nil) -> ClientOptions {
        var options = ClientOptions()
        options.transport = transport
        options.clock = clock.clientClock
        options.channelAuthorizer = channelAuthorizer(as: user)
        if let user { options.userAuthenticator = userAuthenticator(as: user) }
        return options
    }

    /// Makes a client of this broker, which connects when it is told to.
    ///
    /// - Parameters:
    ///   - user: The user's id, as whom the client joins presence channels and signs in; `nil` for
    ///     nobody in particular.
    ///   - configure: Changes the options before the client is made.
    /// - Returns: A real client.
    public func client(
        as user: String? = nil,
        _ configure: (inout ClientOptions) -> Void = { _ in }
    ) -> FanfareClient {
        var options = clientOptions(as: user)
        configure(&options)
        return FanfareClient(key: settings.key, endpoint: endpoint, options: options)
    }

    private struct Transport: ClientTransport {
        let broker: ScriptedBroker

        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            broker.clientOpened(request, receiver)
        }
    }

    // MARK: Settling

    /// The blocks in which a client calls back may be so many for what it lets wait.
    private static let blocksPerQueueMax = 18
    private static let roundsMax = 10_000

    /// Waits until nothing is on its way: what was sent has arrived, and callbacks have been called.
    ///
    /// What is delayed waits for the clock, and is not waited for; neither are tasks of the app that
    /// read sequences: see ``wait(for:within:isolation:until:)`` for those.
    ///
    /// - Parameter queues: The queues that callbacks run on.
    /// - Throws: ``FanfareTestingError/restless(rounds:)`` when something answers every message.
    public func settle(_ queues: [DispatchQueue] = [.main]) async throws {
        for _ in 0..<Self.roundsMax {
            let before = state.withLock { $0.activity }
            await pass(deliveries)
            for queue in queues {
                for _ in 0..<Self.blocksPerQueueMax { await pass(queue) }
            }
            if state.withLock({ $0.activity }) == before { return }
        }
        throw FanfareTestingError.restless(rounds: Self.roundsMax)
    }

    /// Lets time pass when nothing is on its way, and waits for what that sets going.
    ///
    /// What a client does when a time is over runs in a task of its own: whoever needs more than
    /// what arrives and is called back waits for it, as in ``waitForSubscribers(_:to:within:)``.
    ///
    /// - Parameters:
    ///   - duration: Not negative.
    ///   - queues: The queues that callbacks run on.
    /// - Throws: ``FanfareTestingError/restless(rounds:)`` when something answers every message.
    public func advance(by duration: Duration, _ queues: [DispatchQueue] = [.main]) async throws {
        try await settle(queues)
        clock.advance(by: duration)
        try await settle(queues)
    }

    /// Waits until what is on a queue now has run.
    private func pass(_ queue: DispatchQueue) async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
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
            let line = Line(number, of: self)
            var wire = Wire()
            wire.receiver = receiver
            state.wires[number] = wire
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
            // The client hears nothing more, whatever becomes of its close frame.
            state.wires[number]?.receiver = nil
            state.wires[number]?.toBroker.put(.close(code: Int(code)), due: now)
        }
    }

    func clientReads(_ number: Int, _ isReading: Bool) {
        act { state, _ in state.wires[number]?.toClient.isPaused = !isReading }
    }

    // MARK: To clients

    /// Changes something, then lets everything arrive that is due.
    @discardableResult
    func act<Outcome: Sendable, Failure: Error>(
        _ change: (inout State, Duration) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        defer { changes.note() }
        return try state.withLock { (state) throws(Failure) in
            let now = clock.now.offset
            defer { run(&state, at: now) }
            state.activity += 1
            return try change(&state, now)
        }
    }

    /// Lets everything arrive that is due, and what follows from it.
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
            for (number, telling) in state.broker.takeTellings() {
                isMoving = true
                send(telling, over: number, &state, at: now)
            }
        }
        for number in state.wires.keys.sorted() { deliver(over: number, &state, at: now) }
        setAlarm(&state, at: now)
    }

    private func arrive(
        _ sending: Wire.Sending,
        over number: Int,
        _ state: inout State,
        at now: Duration
    ) {
        guard !state.isSilent else { return }
        switch sending {
        case .text(let text): state.broker.receive(text, from: number, at: now)
        case .close(let code):
            state.broker.forget(number, code: code, at: now)
            state.wires[number] = nil
        }
    }

    private func send(
        _ telling: BrokerState.Telling,
        over number: Int,
        _ state: inout State,
        at now: Duration
    ) {
        guard let waiting = state.wires[number]?.toClient.count, !state.isSilent else { return }
        guard case .text(let text) = telling else {
            state.wires[number]?.toClient.put(telling, due: now)
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
        case .duplicate: state.wires[number]?.toClient.put(telling, due: due)
        case nil: break
        }
        state.wires[number]?.toClient.put(telling, due: due)
    }

    private func deliver(over number: Int, _ state: inout State, at now: Duration) {
        for telling in state.wires[number]?.toClient.take(at: now) ?? [] {
            guard let receiver = state.wires[number]?.receiver else { continue }
            switch telling {
            case .text(let text): deliveries.async { receiver.transportReceived(text.span) }
            case .end(let closure): end(number, closure, &state)
            }
        }
    }

    /// Ends a connection at once, as the network does.
    func cut(_ number: Int, _ state: inout State, at now: Duration) {
        state.broker.forget(number, code: nil, at: now)
        end(number, .cut(reason: "the test has cut it"), &state)
    }

    /// Tells a client that its connection has ended.
    private func end(_ number: Int, _ closure: TransportClosure, _ state: inout State) {
        let wire = state.wires.removeValue(forKey: number)
        guard let receiver = wire?.receiver else { return }
        deliveries.async { receiver.transportClosed(closure) }
    }

    /// Sees to it that the clock calls when something is due that time alone brings.
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
