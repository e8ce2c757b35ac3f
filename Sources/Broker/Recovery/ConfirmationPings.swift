/// When a connection is asked to confirm what it has got, and what counts as its answer.
///
/// A `pusher:pong` proves that the client's handlers have run: official clients process messages in order. A pong frame
/// comes from the network layer, which also answers for a page that never gets to process what precedes the ping, since a
/// closing WebSocket drops what waits: it counts only when the connection outlives it by two seconds. All times are
/// milliseconds of one steady clock.
public struct ConfirmationPings: Sendable {
    /// What to write.
    public struct Request: Sendable, Equatable {
        /// Whether to write a `pusher:ping`.
        public let hasMessage: Bool
        /// The number to write in a ping frame; `nil` for no ping frame.
        public let frame: UInt16?
    }

    /// The time between two pings of a client that answers `pusher:ping`.
    static let messageInterval: Int64 = 1_000
    /// The time from a pong frame to the next ping frame, for which a connection has to outlive the pong frame.
    static let frameInterval: Int64 = 2_000
    /// How long a client that answers ping frames may take to answer the first `pusher:ping`, before it is taken for one
    /// that ignores it.
    static let decisionTime: Int64 = 5_000
    /// The time after which a ping frame without an answer is repeated: another ping frame may have replaced it (RFC 6455
    /// §5.5.3).
    static let repetitionTime: Int64 = 30_000

    private enum Method { case undecided, message, frame }

    private var method = Method.undecided
    /// When the outstanding ping was written.
    private var askedAt: Int64?
    private var nextAt: Int64 = .min
    private var number: UInt16 = 0
    /// When the last pong frame arrived.
    private var pongFrameAt: Int64?
    /// The answers that are due before a check for life is passed.
    private var pongsDue = 0

    /// Whether the client has answered a `pusher:ping`, now or over an earlier connection of its session.
    var answersPings: Bool {
        get { method == .message }
        set { if newValue { method = .message } }
    }

    /// Whether a ping is outstanding.
    var isOutstanding: Bool { askedAt != nil }

    /// Whether no ping is outstanding, and it is not too early for one.
    func canBegin(at now: Int64) -> Bool { askedAt == nil && now >= nextAt }

    /// Begins a round, unless one is outstanding or it is too early.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isUrgent: Whether it is never too early.
    /// - Returns: What to write; `nil` for nothing.
    mutating func begin(at now: Int64, isUrgent: Bool) -> Request? {
        if let askedAt {
            guard method == .frame, now - askedAt >= Self.repetitionTime else { return nil }
        }
        guard isUrgent || now >= nextAt else { return nil }
        askedAt = now
        nextAt = now + Self.messageInterval
        number &+= 1
        return request
    }

    /// Begins to check whether the client of a superseded connection lives.
    mutating func beginCheck() -> Request {
        pongsDue = method != .frame && askedAt != nil ? 2 : 1
        number &+= 1
        return request
    }

    private var request: Request {
        Request(hasMessage: method != .frame, frame: method == .message ? nil : number)
    }

    /// Handles a `pusher:pong`.
    ///
    /// - Returns: Whether it answers the outstanding ping.
    mutating func receivePong() -> Bool {
        guard method != .frame else {
            // A late answer to the first ping: the client answers these after all.
            method = .message
            return false
        }
        guard askedAt != nil else { return false }
        method = .message
        askedAt = nil
        pongFrameAt = nil
        return true
    }

    /// Handles a pong frame.
    ///
    /// - Returns: Whether it answers the outstanding ping of a client that answers ping frames alone.
    mutating func receivePongFrame(_ number: UInt16, at now: Int64) -> Bool {
        guard number == self.number, askedAt != nil, method != .message else { return false }
        guard method == .frame else {
            if pongFrameAt == nil { pongFrameAt = now }
            return false
        }
        askedAt = nil
        nextAt = now + Self.frameInterval
        return true
    }

    /// Handles the answer to a check for life.
    ///
    /// - Parameter frame: The number of a pong frame; `nil` for a `pusher:pong`.
    /// - Returns: Whether the client lives.
    mutating func passesCheck(_ frame: UInt16?) -> Bool {
        guard pongsDue > 0 else {
            // It answers the last ping that asked for a confirmation: the check does not wait for it.
            if frame == nil { askedAt = nil }
            return false
        }
        guard let frame else {
            pongsDue -= 1
            return pongsDue == 0
        }
        return frame == number && method != .message
    }

    /// Decides for pong frames if the client has answered the first ping frame, and not the `pusher:ping` in time.
    ///
    /// - Returns: Whether the outstanding ping counts as answered with this by a pong frame.
    mutating func decidesForFrames(at now: Int64) -> Bool {
        guard method == .undecided, let askedAt, pongFrameAt != nil,
            now - askedAt >= Self.decisionTime
        else { return false }
        method = .frame
        self.askedAt = nil
        return true
    }

    /// Whether the connection has outlived the last pong frame that answered the outstanding ping.
    func hasOutlivedPongFrame(at end: Int64) -> Bool {
        guard method == .frame, let pongFrameAt else { return false }
        return end - pongFrameAt >= Self.frameInterval
    }

    /// Notes that a pong frame waits to be outlived.
    mutating func awaitOutliving(from now: Int64) { pongFrameAt = now }
}
