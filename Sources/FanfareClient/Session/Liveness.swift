/// Detects a dead connection: after a silence it sends a ping, and expects an answer within a timeout.
struct Liveness {
    /// The next step.
    enum Verdict: Equatable {
        /// Check again after this time.
        case wait(Duration)
        /// Send a ping, and check again after this time.
        case ping(Duration)
        /// The connection is dead.
        case dead
    }

    private var activityTimeout = Duration.zero
    private var pongTimeout = Duration.zero
    private var receivedAt = Duration.zero
    private var pingedAt: Duration?
    /// Whether the client reads; while it does not, silence is ignored.
    var isReading = true

    /// Starts with a new connection.
    ///
    /// - Parameters:
    ///   - activityTimeout: The silence after which to send a ping.
    ///   - pongTimeout: The time limit for an answer, which may be any message.
    ///   - now: The time of the first message.
    mutating func begin(activityTimeout: Duration, pongTimeout: Duration, at now: Duration) {
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        received(at: now)
    }

    /// Records a received message or frame.
    mutating func received(at now: Duration) {
        receivedAt = now
        pingedAt = nil
    }

    /// Returns the next step and the time of the next check, so that received messages need not restart the timer.
    mutating func check(at now: Duration) -> Verdict {
        guard isReading else { return .wait(activityTimeout) }
        if let pingedAt {
            let left = pingedAt + pongTimeout - now
            return left > .zero ? .wait(left) : .dead
        }
        let left = receivedAt + activityTimeout - now
        guard left <= .zero else { return .wait(left) }
        pingedAt = now
        return .ping(pongTimeout)
    }
}
