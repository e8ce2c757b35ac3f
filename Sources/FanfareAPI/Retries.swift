extension BrokerAPI.Settings {
    /// The retries of failed calls.
    ///
    /// A call that did not reach the broker, or was refused with status 429, is always retried. A call that may have
    /// reached the broker is retried only if it is idempotent: queries, closing a user's connections, and events with
    /// keys (``BrokerAPI/Settings/sendsKeys``). ``BrokerAPI/Settings/timeout`` limits all attempts together.
    public struct Retries: Equatable, Sendable {
        /// The most attempts of one call, including the first.
        public var attemptCountMax: Int
        /// The window of the random pause before the second attempt; it doubles for each further attempt.
        public var pause: Duration
        /// Whether events without keys that may have arrived are triggered again, so that they may be delivered twice.
        ///
        /// Use it for events that contain a state, not a change.
        public var repeatsTriggers: Bool

        /// Creates retries; by default three attempts.
        ///
        /// - Parameters:
        ///   - attemptCountMax: The most attempts of one call, at least one.
        ///   - pause: The window of the random pause before the second attempt.
        ///   - repeatsTriggers: Whether events that may have arrived are triggered again.
        public init(
            attemptCountMax: Int = 3,
            pause: Duration = .milliseconds(100),
            repeatsTriggers: Bool = false
        ) {
            precondition(attemptCountMax > 0, "at least one attempt is needed")
            self.attemptCountMax = attemptCountMax
            self.pause = pause
            self.repeatsTriggers = repeatsTriggers
        }

        /// No retries.
        public static var none: Retries { Retries(attemptCountMax: 1) }

        /// Returns the pause after a number of failures: a random part of a window that doubles.
        func pause(afterFailures failures: Int) -> Duration {
            // One second is enough for a broker to restart, and is shorter than practical timeouts.
            let window = min(pause * (1 << min(failures - 1, 10)), .seconds(1))
            return window * Double.random(in: 0.5...1)
        }
    }
}

/// The effect of a request that arrives twice.
enum RetrySafety {
    /// The same as arriving once.
    case idempotent
    /// The event may be delivered twice.
    case mayDuplicate
}

extension FanfareAPIError {
    /// Whether a retry may succeed.
    var isTemporary: Bool {
        switch self {
        case .unreachable, .connectionLost: true
        case .timedOut: true
        case .refused(let status, _): status == 429 || status >= 500
        case .invalidURL, .invalidArgument, .encoding, .unexpectedAnswer, .answerTooLong,
            .cancelled:
            false
        }
    }
}
