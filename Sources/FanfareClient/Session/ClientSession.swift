import FanfareOutbox
import PusherProtocol

/// The client's side of the protocol, without sockets, clocks or threads.
///
/// Each method takes an input and returns the effects to perform. Time is passed in, as the duration since a fixed
/// instant. The states of a connection:
///
///     disconnected ── connect() ──▶ opening ── connection_established ──▶ connected
///          ▲                       ▲       │                                 │
///     disconnect()                 │       └─────────── lost ────────────────┤
///     (from anywhere)            timer                                       ▼
///                                  └──────────────────────────── waiting or failed
struct ClientSession {
    /// The session's settings.
    struct Settings {
        var endpoint: Endpoint
        var activityTimeout: Duration
        var pongTimeout: Duration
        var connectTimeout: Duration
        /// The most consecutive attempts to reconnect; `nil` for no limit.
        var attemptCountMax: Int?
        var backoff: Backoff
        var signer: LocalSigner?
        /// Whether the client has a channel authorizer, and a user authenticator.
        var authorizes = false
        var authenticates = false
        var decrypter: (any EventDecrypter)?
        /// The most members of a channel, and the most watched users, to keep.
        var membersMax = 10_000
        /// How long the position of a channel is kept after the app has unsubscribed from it.
        var resubscribeGrace = Duration.seconds(30)
        var outbox = Outbox.Limits()
    }

    enum Phase: Equatable {
        case disconnected
        /// The transport is opening, or is open without a first message from the broker.
        case opening
        case connected(since: Duration)
        case waiting
        case failed
    }

    var settings: Settings
    var generator: any RandomNumberGenerator & Sendable
    var phase = Phase.disconnected
    var subscriptions = Subscriptions()
    var liveness = Liveness()
    var reconnection = ReconnectionPolicy()
    /// A fatal error that was the last message: the reason for a close without a reason.
    var pendingError: (code: PusherCode, message: String)?
    var status = ConnectionStatus.disconnected
    var effects: [SessionEffect] = []
    var tickets = Tickets()
    var signIn = SignIn()
    var outbox: Outbox
    /// The positions from the app's store, for channels that are not subscribed.
    var storedPositions: [String: ChannelPosition] = [:]
    /// Whether subscriptions wait for the positions of the app's store.
    var awaitsPositions = false

    /// Creates a disconnected session; the generator provides the random part of delays.
    init(
        settings: Settings,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.settings = settings
        self.generator = generator
        outbox = Outbox(limits: settings.outbox)
    }

    // MARK: Input from the app

    /// Connects; at once if the session is waiting for its next attempt.
    mutating func connect() -> [SessionEffect] {
        switch phase {
        case .opening, .connected: return []
        case .disconnected, .failed: reconnection.reset()
        case .waiting: break
        }
        open()
        return takeEffects()
    }

    /// Closes the connection or stops the attempts until `connect()`.
    mutating func disconnect() -> [SessionEffect] {
        switch phase {
        case .disconnected where status == .disconnected: return []
        case .opening, .connected: effects.append(.close(code: 1000, reason: ""))
        case .disconnected, .waiting, .failed: break
        }
        phase = .disconnected
        endConnection()
        subscriptions.clearMembers()
        effects += outbox.drop(because: .disconnected)
        effects.append(.stopTimer)
        change(to: .disconnected)
        return takeEffects()
    }

    /// Closes the connection until `connect()`, and keeps everything else.
    mutating func suspend() -> [SessionEffect] {
        switch phase {
        case .disconnected: return []
        case .opening, .connected: effects.append(.close(code: 1000, reason: ""))
        case .waiting: break
        // The reason for the failure stays visible.
        case .failed: return []
        }
        phase = .disconnected
        endConnection()
        effects.append(.stopTimer)
        change(to: .suspended)
        return takeEffects()
    }

    /// Checks an established connection with a ping that must be answered within the limit, and ends the wait for the
    /// next attempt.
    mutating func checkConnection(within limit: Duration, at now: Duration) -> [SessionEffect] {
        switch phase {
        case .connected:
            guard let check = liveness.probe(within: limit, at: now) else { return [] }
            effects += [.send(.ping), .startTimer(check)]
        case .waiting: open()
        case .disconnected, .opening, .failed: break
        }
        return takeEffects()
    }

    // MARK: Client events

    /// Sends or queues an event, as ``Outbox/add(_:on:_:json:key:)``; also returns whether it was sent.
    mutating func trigger(
        _ name: String,
        on channel: String,
        json: [UInt8],
        key: IdempotencyKey? = nil,
        at now: Duration
    ) throws(FanfareError) -> (effects: [SessionEffect], wasSent: Bool) {
        try outbox.add(name, on: channel, subscriptions[channel], json: json, key: key)
        sendClientEvents(at: now)
        return (takeEffects(), !outbox.holds(channel))
    }

    /// Queues the stored events of an earlier run of the app, and sends what may be sent.
    mutating func restore(_ events: [OutboxEvent], at now: Duration) -> [SessionEffect] {
        outbox.restore(events)
        sendClientEvents(at: now)
        return takeEffects()
    }

    /// Sends the queued events of subscribed channels, within the rate limit.
    mutating func sendClientEvents(at now: Duration) {
        effects += outbox.send(at: now, where: subscriptions.isOpen)
    }

    // MARK: Input from the connection

    /// Handles the end of the connection or of the attempt to open one.
    mutating func closed(_ closure: TransportClosure, at now: Duration) -> [SessionEffect] {
        switch phase {
        case .disconnected, .waiting, .failed: return []
        case .opening: break
        case .connected: if case .cut = closure { liveness.cut(at: now) }
        }
        lose(ConnectionLoss(closure, of: settings.endpoint, after: pendingError), at: now)
        return takeEffects()
    }

    /// Handles the timer of `startTimer`.
    mutating func timerFired(at now: Duration) -> [SessionEffect] {
        switch phase {
        case .disconnected, .failed: break
        case .opening:
            let limit = settings.connectTimeout
            fail(.connectTimedOut(settings.endpoint, limit: limit), close: 1000, at: now)
        case .waiting: open()
        case .connected:
            switch liveness.check(at: now) {
            case .wait(let time): effects.append(.startTimer(time))
            case .ping(let time): effects += [.send(.ping), .startTimer(time)]
            case .dead:
                fail(.pingUnanswered(limit: liveness.answerTimeout), close: 1000, at: now)
            }
        }
        return takeEffects()
    }

    /// Handles an alarm of `startAlarm`.
    mutating func alarmFired(_ alarm: SessionAlarm, at now: Duration) -> [SessionEffect] {
        switch alarm {
        case .clientEvents: effects += outbox.resume(at: now, where: subscriptions.isOpen)
        case .receipts: effects += outbox.retryLate(at: now, where: subscriptions.isOpen)
        case .signIn:
            guard signIn.isPending else { return [] }
            refuseSignIn("no answer within \(settings.connectTimeout)")
        case .subscription(let channel): retrySubscription(to: channel)
        case .slowReaders(let channel): effects.append(.checkReaders(channel: channel))
        }
        return takeEffects()
    }

    /// Records that reading is paused or resumed; idle time does not count while it is paused.
    mutating func setReading(_ isReading: Bool, at now: Duration) {
        liveness.isReading = isReading
        liveness.received(at: now)
    }

    // MARK: Steps

    mutating func open() {
        phase = .opening
        pendingError = nil
        change(to: .connecting(attempt: reconnection.attempt))
        effects += [.open, .startTimer(settings.connectTimeout)]
    }

    /// Closes the connection after an error on this side.
    mutating func fail(_ error: FanfareError, close code: UInt16, at now: Duration) {
        effects.append(.close(code: code, reason: ""))
        lose(ConnectionLoss(error), at: now)
    }

    /// Handles the loss of the connection.
    mutating func lose(_ loss: ConnectionLoss, at now: Duration) {
        let age: Duration? = if case .connected(let since) = phase { now - since } else { nil }
        endConnection()
        pendingError = nil
        let step = reconnection.step(
            after: loss,
            age: age,
            attemptCountMax: settings.attemptCountMax ?? .max,
            settings.backoff,
            using: &generator
        )
        switch step {
        case .never:
            phase = .failed
            subscriptions.clearMembers()
            effects += outbox.drop(because: loss.error)
            effects.append(.stopTimer)
            change(to: .failed(because: loss.error))
        case .immediately: open()
        case .after(let delay):
            phase = .waiting
            effects.append(.startTimer(delay))
            change(to: .waiting(delay: delay, because: loss.error))
        }
    }

    /// Resets the state that belongs to the ended connection.
    private mutating func endConnection() {
        for channel in subscriptions.channels where subscriptions[channel] == .postponed {
            effects.append(.stopAlarm(.subscription(channel)))
        }
        subscriptions.endConnection()
        effects += tickets.cancel()
        endSignIn()
        effects += outbox.endConnection()
    }

    mutating func change(to status: ConnectionStatus) {
        self.status = status
        effects.append(.status(status))
    }

    mutating func takeEffects() -> [SessionEffect] { exchange(&effects, with: []) }
}
