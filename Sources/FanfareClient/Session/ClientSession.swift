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
        var reconnects: Bool
        /// The most consecutive attempts; `nil` for no limit.
        var attemptCountMax: Int?
        var backoff: Backoff
        var signer: LocalSigner?
        /// Whether the client has a channel authorizer, and a user authenticator.
        var authorizes = false
        var authenticates = false
        var decrypter: (any EventDecrypter)?
        /// The most members of a channel, and the most watched users, to keep.
        var membersMax = 10_000
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

    /// The age at which a connection counts as stable; an earlier close counts as a failure.
    ///
    /// Without it the client would reconnect without delay to a broker that accepts and closes at once.
    static let stableAfter = Duration.seconds(10)

    var settings: Settings
    var generator: any RandomNumberGenerator & Sendable
    var phase = Phase.disconnected
    var subscriptions = Subscriptions()
    var liveness = Liveness()
    /// The number of consecutive connections and attempts without a stable connection.
    var failures = 0
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
        case .disconnected, .failed: failures = 0
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
        dropClientEvents(because: .disconnected)
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

    // MARK: Input from the connection

    /// Handles the end of the connection or of the attempt to open one.
    mutating func closed(_ closure: TransportClosure, at now: Duration) -> [SessionEffect] {
        switch phase {
        case .disconnected, .waiting, .failed: return []
        case .opening, .connected: break
        }
        switch closure {
        case .closeFrame(let code?, let reason) where code >= 3000:
            lose(code: PusherCode(rawValue: Int(code)), reason: reason, at: now)
        case .closeFrame, .cut:
            if let pendingError {
                lose(code: pendingError.code, reason: pendingError.message, at: now)
            } else if case .closeFrame(let code, let reason) = closure {
                lose(.closed(code: code.map(Int.init), reason: reason), .backOff, at: now)
            } else if case .cut(let reason) = closure {
                lose(.closed(code: nil, reason: reason), .backOff, at: now)
            }
        case .unreachable(let reason):
            lose(.unreachable(settings.endpoint, reason: reason), .backOff, at: now)
        case .untrusted(let reason):
            lose(.untrusted(settings.endpoint, reason: reason), .backOff, at: now)
        case .proxyFailed(let reason):
            lose(.proxyFailed(reason: reason), .backOff, at: now)
        case .upgradeRefused(let reason):
            lose(.upgradeRefused(settings.endpoint, reason: reason), .backOff, at: now)
        case .protocolViolation(let text):
            lose(.protocolViolation(text), .backOff, at: now)
        }
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

    /// Records that reading is paused or resumed; idle time does not count while it is paused.
    mutating func setReading(_ isReading: Bool, at now: Duration) {
        liveness.isReading = isReading
        liveness.received(at: now)
    }

    // MARK: Steps

    mutating func change(to status: ConnectionStatus) {
        self.status = status
        effects.append(.status(status))
    }

    mutating func takeEffects() -> [SessionEffect] { exchange(&effects, with: []) }
}
