import PusherProtocol

/// A client's side of the protocol, without socket, clock or thread.
///
/// Each method takes something that happened and returns what is to be done about it. Time is
/// passed in, as the duration since any fixed moment. A connection's life:
///
///     disconnected ── connect() ──▶ opening ── connection_established ──▶ connected
///          ▲                       ▲       │                                 │
///     disconnect()                 │       └─────────── lost ────────────────┤
///     (from anywhere)            timer                                       ▼
///                                  └──────────────────────────── waiting or failed
struct ClientSession {
    /// What the session does by itself.
    struct Settings {
        var endpoint: Endpoint
        var activityTimeout: Duration
        var pongTimeout: Duration
        var connectTimeout: Duration
        var reconnects: Bool
        /// The most attempts in a row; `nil` for no end of them.
        var attemptCountMax: Int?
        var backoff: Backoff
        var signer: LocalSigner?
        /// Whether there is somebody who signs channels, and somebody who signs users.
        var authorizes = false
        var authenticates = false
        var decrypter: (any EventDecrypter)?
        /// The most that a broker may have this client remember: members of a channel, watched users.
        var membersMax = 10_000
        var outbox = Outbox.Limits()
    }

    enum Phase: Equatable {
        case disconnected
        /// The transport opens, or is open and the broker has not spoken yet.
        case opening
        case connected(since: Duration)
        case waiting
        case failed
    }

    /// A connection that held this long was a good one; before that, a close counts as a failure.
    ///
    /// Otherwise a broker that greets and closes at once would be asked again without any pause.
    static let stableAfter = Duration.seconds(10)

    var settings: Settings
    var generator: any RandomNumberGenerator & Sendable
    var phase = Phase.disconnected
    var subscriptions = Subscriptions()
    var liveness = Liveness()
    /// Connections and attempts in a row that ended without a stable connection.
    var failures = 0
    /// A fatal error that nothing has followed yet: the reason of a close that gives none.
    var announced: (code: PusherCode, message: String)?
    var status = ConnectionStatus.disconnected
    var effects: [SessionEffect] = []
    var tickets = Tickets()
    var signIn = SignIn()
    var outbox: Outbox

    /// Begins disconnected.
    ///
    /// - Parameters:
    ///   - settings: What the session does by itself.
    ///   - generator: The source of the random part of delays.
    init(
        settings: Settings,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.settings = settings
        self.generator = generator
        outbox = Outbox(limits: settings.outbox)
    }

    // MARK: What the app wants

    /// Connects, at once if the session waits for its next attempt.
    mutating func connect() -> [SessionEffect] {
        switch phase {
        case .opening, .connected: return []
        case .disconnected, .failed: failures = 0
        case .waiting: break
        }
        open()
        return takeEffects()
    }

    /// Ends the connection, or what leads to one; nothing but `connect()` leads out of this.
    mutating func disconnect() -> [SessionEffect] {
        switch phase {
        case .disconnected: return []
        case .opening, .connected: effects.append(.close(code: 1000, reason: ""))
        case .waiting, .failed: break
        }
        phase = .disconnected
        endConnection()
        subscriptions.forgetMembers()
        dropClientEvents(because: .disconnected)
        effects.append(.stopTimer)
        change(to: .disconnected)
        return takeEffects()
    }

    // MARK: What the connection brings

    /// Takes a message of the broker.
    mutating func receive(_ message: ServerMessage, at now: Duration) -> [SessionEffect] {
        liveness.heard(at: now)
        switch phase {
        case .opening: receiveFirst(message, at: now)
        case .connected: receiveNext(message, at: now)
        case .disconnected, .waiting, .failed: break
        }
        return takeEffects()
    }

    /// Takes a message that is not one of the protocol's.
    ///
    /// As a first message it shows that this is no broker; later it is reported and skipped.
    mutating func receiveInvalid(_ fault: String, at now: Duration) -> [SessionEffect] {
        liveness.heard(at: now)
        switch phase {
        case .opening: fail(.protocolViolation(fault), close: 1002, at: now)
        case .connected: effects.append(.report(.protocolViolation(fault)))
        case .disconnected, .waiting, .failed: break
        }
        return takeEffects()
    }

    /// Takes note of a ping or pong frame.
    mutating func heard(at now: Duration) { liveness.heard(at: now) }

    /// Takes the end of the connection, or of the attempt to open one.
    mutating func closed(_ closure: TransportClosure, at now: Duration) -> [SessionEffect] {
        switch phase {
        case .disconnected, .waiting, .failed: return []
        case .opening, .connected: break
        }
        switch closure {
        case .closeFrame(let code?, let reason) where code >= 3000:
            lose(code: PusherCode(rawValue: Int(code)), reason: reason, at: now)
        case .closeFrame, .cut:
            if let announced {
                lose(code: announced.code, reason: announced.message, at: now)
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

    /// Takes the end of the time asked for by `startTimer`.
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
                fail(.pingUnanswered(limit: settings.pongTimeout), close: 1000, at: now)
            }
        }
        return takeEffects()
    }

    /// Takes note that reading has stopped or goes on; silence means nothing meanwhile.
    mutating func setReading(_ isReading: Bool, at now: Duration) {
        liveness.isReading = isReading
        liveness.heard(at: now)
    }

    // MARK: Steps

    mutating func receiveFirst(_ message: ServerMessage, at now: Duration) {
        switch message {
        case .connectionEstablished(let socketID, let activityTimeout):
            establish(socketID, activityTimeout, at: now)
        case .error(let code, let message):
            // Without a code nothing says what to do; the close that follows may.
            guard let code else {
                return effects.append(.report(.reported(code: nil, message: message)))
            }
            effects.append(.close(code: 1000, reason: ""))
            lose(code: code, reason: message, at: now)
        case .ping: effects.append(.send(.pong))
        default:
            let fault = "the first message is no pusher:connection_established, but \(message)"
            fail(.protocolViolation(fault), close: 1002, at: now)
        }
    }

    mutating func change(to status: ConnectionStatus) {
        self.status = status
        effects.append(.status(status))
    }

    mutating func takeEffects() -> [SessionEffect] { exchange(&effects, with: []) }
}
