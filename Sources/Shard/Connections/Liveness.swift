import Net

/// Detects silent clients, which are pinged and then closed (Pusher protocol, "Ping and pong").
///
/// Any received data proves that the client is alive: a pong frame, a `pusher:ping`, any message. The client is pinged
/// with a WebSocket ping frame, which every WebSocket implementation answers; several official clients ignore
/// `pusher:ping`.
///
/// A browser answers ping frames for a page that it has frozen as well, whose user would stay online. So a *present*
/// client, which has signed in or subscribed to a presence channel, is pinged with `pusher:ping`, earlier than others.
/// The ping frame is left out as soon as it has answered a `pusher:ping`.
struct Liveness {
    /// The times of a broker.
    struct Settings: Sendable {
        /// The seconds of silence after which clients are asked to ping.
        var activityTimeout: Int
        /// The seconds within which a pinged client must answer.
        var pongTimeout: UInt32
        /// The seconds of silence after which the broker pings: later than the client should have pinged.
        var threshold: UInt32
        /// The seconds between two checks of the connections, which is the maximum delay of an action.
        var interval: Int

        init(activityTimeout: Int, pongTimeout: Int) {
            self.activityTimeout = activityTimeout
            self.pongTimeout = UInt32(pongTimeout)
            threshold = UInt32(activityTimeout + activityTimeout / 4)
            interval = min(max(min(activityTimeout, pongTimeout) / 3, 1), 10)
        }
    }

    /// How a client is pinged.
    enum Ping {
        case frame
        /// A `pusher:ping`, which the application answers.
        case message
        /// Both, because the client may ignore `pusher:ping`.
        case both
    }

    enum Action: Equatable {
        case wait, ping(Ping), close
    }

    /// The time of the last receipt, or of the ping.
    private var since: UInt32
    private var isPinged = false
    /// Whether the client has answered a `pusher:ping`.
    private var answersPings = false
    /// The seconds of silence after which a present client is pinged; 0 for a client that is not present.
    private var presenceTimeout: UInt16 = 0

    /// Creates the state of a client whose last receipt was `now`, in seconds on the loop's clock.
    init(now: UInt32) { since = now }

    /// Called when something was received.
    mutating func received(at now: UInt32) {
        since = now
        isPinged = false
    }

    /// Called when the client has answered a `pusher:ping`.
    mutating func receivedPong() { answersPings = true }

    /// Called when the client has signed in or subscribes to a presence channel: it is pinged after this many seconds of
    /// silence; 0 for like other clients.
    mutating func becamePresent(timeout: Int) { presenceTimeout = UInt16(clamping: timeout) }

    /// Whether the client has been silent for too long.
    func isOverdue(at now: UInt32, _ settings: Settings) -> Bool {
        now - since >= (isPinged ? settings.pongTimeout : silenceMax(settings))
    }

    private func silenceMax(_ settings: Settings) -> UInt32 {
        presenceTimeout == 0
            ? settings.threshold : min(settings.threshold, UInt32(presenceTimeout))
    }

    /// The seconds since the last receipt, or since the ping.
    func silence(at now: UInt32) -> Int { Int(now &- since) }

    /// Checks a client; the returned action is to be performed.
    mutating func check(at now: UInt32, _ settings: Settings) -> Action {
        guard isOverdue(at: now, settings) else { return .wait }
        if isPinged { return .close }
        since = now
        isPinged = true
        guard presenceTimeout > 0 else { return .ping(.frame) }
        return .ping(answersPings ? .message : .both)
    }
}

extension Reactor {
    /// The time of timers in whole seconds: precise enough for liveness, in half the size.
    ///
    /// It excludes pauses of the process, during which nothing can be received.
    var seconds: UInt32 { UInt32(truncatingIfNeeded: timerTime.nanoseconds / 1_000_000_000) }
}
