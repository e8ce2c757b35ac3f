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
        var pongTimeout: Int
        /// Seconds of silence after which the broker pings: later than the client should have done.
        var threshold: UInt32 { UInt32(activityTimeout + activityTimeout / 4) }
    }

    enum Verdict: Equatable {
        case wait(Duration)
        case ping(Duration)
        case close
    }

    private let settings: Settings
    private var lastHeard: UInt32
    private var isPinged = false

    /// Begins with a client that was heard `now`, in seconds on the loop's clock.
    init(settings: Settings, now: UInt32) {
        self.settings = settings
        lastHeard = now
    }

    /// How long a client may be silent before its liveness is judged.
    var patience: Duration { .seconds(settings.threshold) }

    /// Something arrived.
    mutating func heard(at now: UInt32) {
        lastHeard = now
        isPinged = false
    }

    /// What to do now that the patience given last is over.
    mutating func judge(at now: UInt32) -> Verdict {
        if isPinged { return .close }
        let silence = now - lastHeard
        guard silence >= settings.threshold else {
            return .wait(.seconds(settings.threshold - silence))
        }
        isPinged = true
        return .ping(.seconds(settings.pongTimeout))
    }
}

extension Reactor {
    /// The loop's clock in whole seconds: fine enough for liveness, and half the size of a time.
    var seconds: UInt32 { UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000) }
}
