/// Detects a dead connection: after an idle time it sends a ping, and expects an answer within a timeout.
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

    /// The shortest silence that a connection's end is blamed on, and the least idle time before a ping.
    private static let silenceMin = Duration.seconds(10)

    /// The idle time after which to send a ping.
    private(set) var activityTimeout = Duration.zero
    /// The idle time that something between client and broker has shown to allow; kept for later connections.
    private var silenceMax: Duration?
    private var pongTimeout = Duration.zero
    /// The time of the last received message or frame.
    private(set) var receivedAt = Duration.zero
    private var pingedAt: Duration?
    /// The time limit for the answer to the last ping.
    private(set) var answerTimeout = Duration.zero
    /// Whether the client reads; otherwise idle time does not count.
    var isReading = true

    /// Starts with a new connection.
    ///
    /// - Parameters:
    ///   - activityTimeout: The idle time after which to send a ping, unless an earlier end asks for a shorter one.
    ///   - pongTimeout: The time limit for an answer, which may be any message.
    ///   - now: The time of the first message.
    mutating func begin(activityTimeout: Duration, pongTimeout: Duration, at now: Duration) {
        self.activityTimeout = min(activityTimeout, silenceMax ?? activityTimeout)
        self.pongTimeout = pongTimeout
        received(at: now)
    }

    /// Records a received message or frame.
    mutating func received(at now: Duration) {
        receivedAt = now
        pingedAt = nil
    }

    /// Handles the end of a connection without a close frame.
    ///
    /// If nothing was received for a while and no ping was unanswered, a proxy has probably ended a silent connection:
    /// later ones ping earlier.
    mutating func cut(at now: Duration) {
        let silence = now - receivedAt
        guard isReading, pingedAt == nil, silence >= Self.silenceMin, silence < activityTimeout
        else { return }
        silenceMax = max(silence * 3 / 4, Self.silenceMin)
    }

    /// Sends a ping at once, and expects an answer within a limit.
    ///
    /// - Parameters:
    ///   - limit: The time limit for the answer.
    ///   - now: The time.
    /// - Returns: The time of the next check; `nil` if an earlier ping must be answered sooner, or while the client
    ///   does not read.
    mutating func probe(within limit: Duration, at now: Duration) -> Duration? {
        guard isReading else { return nil }
        let end = now + limit
        if let pingedAt, pingedAt + answerTimeout <= end { return nil }
        pingedAt = now
        answerTimeout = limit
        return limit
    }

    /// Returns the next step and when to check again, so that received messages need not restart the timer.
    mutating func check(at now: Duration) -> Verdict {
        guard isReading else { return .wait(activityTimeout) }
        if let pingedAt {
            let left = pingedAt + answerTimeout - now
            return left > .zero ? .wait(left) : .dead
        }
        let left = receivedAt + activityTimeout - now
        guard left <= .zero else { return .wait(left) }
        pingedAt = now
        answerTimeout = pongTimeout
        return .ping(pongTimeout)
    }
}
