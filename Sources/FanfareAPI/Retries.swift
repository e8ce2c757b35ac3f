extension FanfareAPI.Settings {
    /// When a call that has failed is made again by itself.
    ///
    /// What certainly did not reach the broker, or was refused for its rate, is always made again; what may have
    /// reached it only where twice is the same as once: queries, and closing a user's connections. All attempts
    /// together take no longer than ``FanfareAPI/FanfareAPI/Settings/timeout``.
    public struct Retries: Equatable, Sendable {
        /// The most attempts at one call, the first included.
        public var attemptCountMax: Int
        /// The window of the random pause before the second attempt; each further one doubles it.
        public var pause: Duration
        /// Whether events are triggered again that may have arrived, and so perhaps are delivered twice.
        ///
        /// For events that say how things are, and not what has changed.
        public var repeatsTriggers: Bool

        /// Makes a call up to three times.
        ///
        /// - Parameters:
        ///   - attemptCountMax: The most attempts at one call, at least one.
        ///   - pause: The window of the random pause before the second attempt.
        ///   - repeatsTriggers: Whether events are triggered again that may have arrived.
        public init(
            attemptCountMax: Int = 3,
            pause: Duration = .milliseconds(100),
            repeatsTriggers: Bool = false
        ) {
            precondition(attemptCountMax > 0, "a call that is never made")
            self.attemptCountMax = attemptCountMax
            self.pause = pause
            self.repeatsTriggers = repeatsTriggers
        }

        /// Every call is made once.
        public static var none: Retries { Retries(attemptCountMax: 1) }

        /// How long to pause after so many failures: a random part of a window that doubles.
        func pause(afterFailures failures: Int) -> Duration {
            // A second is long enough for a broker that restarts, and short of any timeout.
            let window = min(pause * (1 << min(failures - 1, 10)), .seconds(1))
            return window * Double.random(in: 0.5...1)
        }
    }
}

/// What makes a call again does not change what comes of it, or does.
enum Repetition {
    /// Asking twice is asking once.
    case harmless
    /// An event that arrives twice is delivered twice.
    case delivers
}

extension FanfareAPIError {
    /// Whether the same call may succeed a moment later.
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
