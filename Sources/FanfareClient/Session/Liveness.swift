/// Whether the other side still lives: silence, then a ping, then an answer or the end.
struct Liveness {
    /// What to do now.
    enum Verdict: Equatable {
        /// Look again after this time.
        case wait(Duration)
        /// Ask, and look again after this time.
        case ping(Duration)
        /// Nobody is there.
        case dead
    }

    private var activityTimeout = Duration.zero
    private var pongTimeout = Duration.zero
    private var heardAt = Duration.zero
    private var askedAt: Duration?
    /// While this side does not read, it cannot hear either.
    var isReading = true

    /// Begins with a connection.
    ///
    /// - Parameters:
    ///   - activityTimeout: Silence after which to ask.
    ///   - pongTimeout: Time for an answer, of any kind.
    ///   - now: The time of the first message.
    mutating func begin(activityTimeout: Duration, pongTimeout: Duration, at now: Duration) {
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        heard(at: now)
    }

    /// Takes note of a sign of life.
    mutating func heard(at now: Duration) {
        heardAt = now
        askedAt = nil
    }

    /// Judges the silence, and says when to be asked again: signs of life set no timer.
    mutating func check(at now: Duration) -> Verdict {
        guard isReading else { return .wait(activityTimeout) }
        if let askedAt {
            let left = askedAt + pongTimeout - now
            return left > .zero ? .wait(left) : .dead
        }
        let left = heardAt + activityTimeout - now
        guard left <= .zero else { return .wait(left) }
        askedAt = now
        return .ping(pongTimeout)
    }
}
