import Net

/// When a silent client is asked for a sign of life, and when it is given up (Pusher protocol, "Ping and pong").
///
/// Anything received counts: a browser's pong frame, a `pusher:ping`, any message. The client is asked by a WebSocket
/// ping frame, which every network stack answers by itself; several official clients ignore `pusher:ping`.
struct Liveness {
    /// The times of one broker.
    struct Settings: Sendable {
        /// Seconds of silence after which clients are told to ping.
        var activityTimeout: Int
        /// Seconds that a pinged client has to answer.
        var pongTimeout: UInt32
        /// Seconds of silence after which the broker pings: later than the client should have done.
        var threshold: UInt32
        /// Seconds between two looks at the connections: verdicts come late by no more than that.
        var interval: Int

        init(activityTimeout: Int, pongTimeout: Int) {
            self.activityTimeout = activityTimeout
            self.pongTimeout = UInt32(pongTimeout)
            threshold = UInt32(activityTimeout + activityTimeout / 4)
            interval = min(max(min(activityTimeout, pongTimeout) / 3, 1), 10)
        }
    }

    enum Verdict: Equatable {
        case wait, ping, close
    }

    /// When the client was heard, or when it was asked.
    private var since: UInt32
    private var isPinged = false

    /// Begins with a client that was heard `now`, in seconds on the loop's clock.
    init(now: UInt32) { since = now }

    /// Something arrived.
    mutating func heard(at now: UInt32) {
        since = now
        isPinged = false
    }

    /// Whether the client has been silent for longer than it may be.
    func isOverdue(at now: UInt32, _ settings: Settings) -> Bool {
        now - since >= (isPinged ? settings.pongTimeout : settings.threshold)
    }

    /// What to do with a client that may have been silent for too long.
    mutating func judge(at now: UInt32, _ settings: Settings) -> Verdict {
        guard isOverdue(at: now, settings) else { return .wait }
        if isPinged { return .close }
        since = now
        isPinged = true
        return .ping
    }
}

extension Reactor {
    /// The time of timers in whole seconds: fine enough for liveness, and half the size of a time.
    ///
    /// A pause of the process is left out, in which nobody could be heard.
    var seconds: UInt32 { UInt32(truncatingIfNeeded: timerTime.nanoseconds / 1_000_000_000) }
}
