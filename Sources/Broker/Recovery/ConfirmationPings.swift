/// Decides when a connection is asked to confirm what it has got, and what counts as its answer.
///
/// A `pusher:pong` proves that the client's handlers have run, because official clients process messages in order. A
/// pong frame comes from the network layer. That layer also answers for a page that never processes the messages before
/// the ping, because a closing WebSocket drops waiting messages. So a pong frame counts only if the connection stays
/// open for two more seconds. All times are milliseconds of one steady clock.
///
/// One ping is outstanding at a time, except within a long replay, where a ping follows each part. A client that cannot
/// process the whole replay over one connection then continues after the last part that it has processed, not from the
/// beginning. A part is at least half as long as the unanswered replay before it, so a few pings divide any replay.
public struct ConfirmationPings: Sendable {
    /// What to write.
    public struct Request: Sendable, Equatable {
        /// Whether to write a `pusher:ping`.
        public let hasMessage: Bool
        /// The number to write in a ping frame; `nil` for no ping frame.
        public let frame: UInt16?
    }

    /// What a ping is written after.
    public enum Occasion: Sendable {
        /// Messages that the client has got since the last ping.
        case messages
        /// The last grant of a turn.
        case grants
        /// A part of a replay that has further parts.
        case replayPart
        /// The last message of a connection that is about to be closed.
        case end
    }

    /// The time between two pings of a client that answers `pusher:ping`.
    static let messageInterval: Int64 = 1_000
    /// The time from a pong frame to the next ping frame; a connection must outlive the pong frame by this time.
    static let frameInterval: Int64 = 2_000
    /// How long a client that answers ping frames may take to answer the first `pusher:ping`.
    ///
    /// After this time the broker assumes that the client ignores `pusher:ping`.
    static let decisionTime: Int64 = 5_000
    /// The time after which an unanswered ping frame is repeated, because another ping frame may have replaced it (RFC
    /// 6455 §5.5.3).
    static let repetitionTime: Int64 = 30_000
    /// The length of the shortest part of a replay that a ping follows, in bytes.
    public static let partLengthMin = 128 << 10
    /// The length that a replayed message counts for besides its frame: handling it takes time, however short it is.
    public static let messageLength = 256
    /// The maximum number of outstanding pings: enough to divide 73 MiB of replays that are all unanswered.
    static let outstandingMax = 16

    private enum Method { case undecided, message, frame }

    /// A ping whose answer does not count yet.
    private struct Ping {
        let number: UInt32
        let askedAt: Int64
        /// When its pong frame arrived.
        var answeredAt: Int64?
        /// The length of what was replayed between the ping before it and this one.
        let replayLength: Int
    }

    // The order saves padding.
    private var outstanding: [Ping] = []
    private var nextAt: Int64 = .min
    /// The length of what was replayed after the last ping.
    private var replayLength = 0
    private let partLengthMin: UInt32
    /// The number of the last ping.
    private(set) var number: UInt32 = 0
    /// The number of `pusher:ping` messages that the client has not answered.
    private var pongsDue: UInt32 = 0
    /// The number of those up to the last liveness check; 0 if none is in progress.
    private var pongsDueForCheck: UInt32 = 0
    private var method = Method.undecided

    /// Creates a connection's pings, of which one follows each part of a replay of at least `partLengthMin` bytes.
    init(partLengthMin: Int = Self.partLengthMin) {
        self.partLengthMin = UInt32(clamping: partLengthMin)
    }

    /// Whether the client has answered a `pusher:ping`, now or over an earlier connection of its session.
    var answersPings: Bool {
        get { method == .message }
        set { if newValue { method = .message } }
    }

    /// Whether the last ping is not answered.
    var isOutstanding: Bool {
        outstanding.last.map { $0.answeredAt == nil || method != .frame } ?? false
    }

    /// Whether the answer to a ping may count yet.
    func mayConfirm(_ number: UInt32) -> Bool {
        outstanding.last.map { number <= $0.number } ?? false
    }

    // MARK: - Asking

    /// How much may be replayed before a ping has to follow it, in bytes.
    var replayLengthLeft: Int {
        guard outstanding.count < Self.outstandingMax else { return .max }
        let unanswered = outstanding.reduce(0) { $0 + ($1.answeredAt == nil ? $1.replayLength : 0) }
        return max(Int(partLengthMin), unanswered / 2) - replayLength
    }

    /// Records that messages of a replay were sent: the length of their frames and a ``messageLength`` for each, in
    /// bytes.
    mutating func noteReplayed(_ length: Int) { replayLength += length }

    /// Whether a ping may be written now.
    func canAsk(behind occasion: Occasion, at now: Int64) -> Bool {
        let isDue = !isOutstanding && now >= nextAt
        let hasRoom = outstanding.count < Self.outstandingMax
        return switch occasion {
        case .messages: isDue
        // The rest of a long replay need not wait for the answers to its parts.
        case .grants: isDue || hasRoom && replayLength >= Int(partLengthMin)
        case .replayPart: replayLengthLeft <= 0
        case .end: hasRoom
        }
    }

    /// Begins a round, if a ping may be written now after this, and returns what to write; `nil` for nothing.
    mutating func ask(behind occasion: Occasion, at now: Int64) -> Request? {
        guard canAsk(behind: occasion, at: now) else { return nil }
        let request = nextRequest()
        outstanding.append(Ping(number: number, askedAt: now, replayLength: replayLength))
        nextAt = now + Self.messageInterval
        replayLength = 0
        return request
    }

    private mutating func nextRequest() -> Request {
        number += 1
        let hasMessage = method != .frame
        if hasMessage { pongsDue += 1 }
        let frame = method == .message ? nil : UInt16(truncatingIfNeeded: number)
        return Request(hasMessage: hasMessage, frame: frame)
    }

    /// Gives up ping frames that were not answered in time.
    mutating func giveUpOverdue(at now: Int64) {
        guard method == .frame, isOutstanding, let last = outstanding.last,
            now - last.askedAt >= Self.repetitionTime
        else { return }
        outstanding.removeAll { $0.answeredAt == nil }
    }

    /// Records a `pusher:ping` whose pong confirms nothing.
    ///
    /// The pong of a later ping then counts in its place: later than it could, never before its messages were processed.
    mutating func notePing() { pongsDue += 1 }

    // MARK: - Answers

    /// Handles a `pusher:pong`, and returns the number of the ping that it answers.
    ///
    /// `nil` if the pong cannot confirm what precedes that ping.
    mutating func receivePong() -> UInt32? {
        guard pongsDue > 0 else { return nil }
        pongsDue -= 1
        guard method != .frame else {
            // A late answer to the first ping: the client does answer these, so no pong frame counts.
            method = .message
            outstanding = []
            return nil
        }
        method = .message
        // More answers are due than pings outstanding, so it answers a ping from before the client was assumed to be of
        // another kind.
        guard pongsDue < outstanding.count else { return nil }
        let answered = outstanding.removeFirst().number
        // An empty array would keep its memory for as long as the connection lasts.
        if outstanding.isEmpty { outstanding = [] }
        return answered
    }

    /// Handles a pong frame, which answers the ping with its number and those before it (RFC 6455 §5.5.3).
    mutating func receivePongFrame(_ frame: UInt16, at now: Int64) {
        let index = outstanding.lastIndex { UInt16(truncatingIfNeeded: $0.number) == frame }
        guard method != .message, let index else { return }
        for earlier in outstanding.indices.prefix(through: index)
        where outstanding[earlier].answeredAt == nil {
            outstanding[earlier].answeredAt = now
            if method == .frame { nextAt = now + Self.frameInterval }
        }
    }

    /// Counts pong frames as the client's answers, if it has not answered the first `pusher:ping` in time.
    mutating func decide(at now: Int64) {
        guard method == .undecided, let first = outstanding.first, first.answeredAt != nil,
            now - first.askedAt >= Self.decisionTime
        else { return }
        method = .frame
    }

    /// Removes the pings whose pong frames the connection has outlived, and returns the number of the last; `nil` if
    /// none.
    mutating func removeOutlived(at end: Int64) -> UInt32? {
        guard method == .frame else { return nil }
        let outlived = outstanding.prefix {
            $0.answeredAt.map { end - $0 >= Self.frameInterval } ?? false
        }
        guard let last = outlived.last?.number else { return nil }
        outstanding.removeFirst(outlived.count)
        if outstanding.isEmpty { outstanding = [] }
        return last
    }

    // MARK: - Checks for life

    /// Begins a liveness check of the client of a superseded connection.
    mutating func beginCheck() -> Request {
        outstanding = []
        let request = nextRequest()
        pongsDueForCheck = max(pongsDue, 1)
        return request
    }

    /// Handles the answer to a liveness check, and returns whether the client is alive.
    ///
    /// `frame` is the number of a pong frame; `nil` for a `pusher:pong`.
    mutating func passesCheck(_ frame: UInt16?) -> Bool {
        guard let frame else {
            if pongsDue > 0 { pongsDue -= 1 }
            guard pongsDueForCheck > 0 else { return false }
            pongsDueForCheck -= 1
            return pongsDueForCheck == 0
        }
        return pongsDueForCheck > 0 && frame == UInt16(truncatingIfNeeded: number)
            && method != .message
    }
}
