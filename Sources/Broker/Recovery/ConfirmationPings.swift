/// When a connection is asked to confirm what it has got, and what counts as its answer.
///
/// A `pusher:pong` proves that the client's handlers have run: official clients process messages in order. A pong frame
/// comes from the network layer, which also answers for a page that never gets to process what precedes the ping, since a
/// closing WebSocket drops what waits: it counts only when the connection outlives it by two seconds. All times are
/// milliseconds of one steady clock.
///
/// One ping is outstanding at a time, except within a long replay, where one follows each part: a client that cannot
/// process all of it over one connection goes on behind the last part that it has processed, and not from the beginning
/// again. A part is at least half as long as what is unanswered ahead of it, so a few pings divide any replay.
public struct ConfirmationPings: Sendable {
    /// What to write.
    public struct Request: Sendable, Equatable {
        /// Whether to write a `pusher:ping`.
        public let hasMessage: Bool
        /// The number to write in a ping frame; `nil` for no ping frame.
        public let frame: UInt16?
    }

    /// What a ping would be written behind.
    public enum Occasion: Sendable {
        /// Messages that the client got since the last one.
        case messages
        /// The last grant of a turn.
        case grants
        /// A part of a replay whose rest follows.
        case replayPart
        /// The last message of a connection that is about to be closed.
        case end
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
    /// The length of the shortest part of a replay that a ping follows, in bytes.
    public static let partLengthMin = 128 << 10
    /// The length of a replayed message besides its frame: handling it takes time, however short it is.
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

    private let partLengthMin: Int
    private var method = Method.undecided
    private var outstanding: [Ping] = []
    private var nextAt: Int64 = .min
    /// The number of the last ping.
    private(set) var number: UInt32 = 0
    /// The number of `pusher:ping` messages that the client has not answered.
    private var pongsDue: UInt32 = 0
    /// The number of those up to the last check for life; 0 if none is under way.
    private var pongsDueForCheck: UInt32 = 0
    /// The length of what was replayed behind the last ping.
    private var replayLength = 0

    /// Creates a connection's pings.
    ///
    /// - Parameter partLengthMin: The length of the shortest part of a replay that a ping follows, in bytes.
    init(partLengthMin: Int = Self.partLengthMin) { self.partLengthMin = partLengthMin }

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
        return max(partLengthMin, unanswered / 2) - replayLength
    }

    /// Notes that messages of a replay were sent.
    ///
    /// - Parameter length: The length of their frames, and of as many ``messageLength``s, in bytes.
    mutating func noteReplayed(_ length: Int) { replayLength += length }

    /// Whether a ping may be written now.
    func canAsk(behind occasion: Occasion, at now: Int64) -> Bool {
        let isDue = !isOutstanding && now >= nextAt
        let hasRoom = outstanding.count < Self.outstandingMax
        return switch occasion {
        case .messages: isDue
        // The rest of a long replay need not wait for the answers to its parts.
        case .grants: isDue || hasRoom && replayLength >= partLengthMin
        case .replayPart: replayLengthLeft <= 0
        case .end: hasRoom
        }
    }

    /// Begins a round, if a ping may be written now.
    ///
    /// - Parameters:
    ///   - occasion: What it would be written behind.
    ///   - now: The time.
    /// - Returns: What to write; `nil` for nothing.
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

    // MARK: - Answers

    /// Handles a `pusher:pong`.
    ///
    /// - Returns: The number of the ping that it answers; `nil` if what precedes that ping cannot be confirmed by it.
    mutating func receivePong() -> UInt32? {
        guard pongsDue > 0 else { return nil }
        pongsDue -= 1
        guard method != .frame else {
            // A late answer to the first ping: the client answers these after all, so no pong frame counts.
            method = .message
            outstanding = []
            return nil
        }
        method = .message
        // With more due than outstanding, it answers a ping from before the client was taken for another kind.
        guard pongsDue < outstanding.count else { return nil }
        let answered = outstanding.removeFirst().number
        // An empty array would keep its memory for as long as the connection lasts.
        if outstanding.isEmpty { outstanding = [] }
        return answered
    }

    /// Handles a pong frame: it answers the ping of its number, and those before it (RFC 6455 §5.5.3).
    mutating func receivePongFrame(_ frame: UInt16, at now: Int64) {
        let index = outstanding.lastIndex { UInt16(truncatingIfNeeded: $0.number) == frame }
        guard method != .message, let index else { return }
        for earlier in outstanding.indices.prefix(through: index)
        where outstanding[earlier].answeredAt == nil {
            outstanding[earlier].answeredAt = now
            if method == .frame { nextAt = now + Self.frameInterval }
        }
    }

    /// Takes pong frames for the client's answers, if it has not answered the first `pusher:ping` in time.
    mutating func decide(at now: Int64) {
        guard method == .undecided, let first = outstanding.first, first.answeredAt != nil,
            now - first.askedAt >= Self.decisionTime
        else { return }
        method = .frame
    }

    /// Removes the pings whose pong frames the connection has outlived.
    ///
    /// - Returns: The number of the last of them; `nil` if there are none.
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

    /// Begins to check whether the client of a superseded connection lives.
    mutating func beginCheck() -> Request {
        outstanding = []
        let request = nextRequest()
        pongsDueForCheck = max(pongsDue, 1)
        return request
    }

    /// Handles the answer to a check for life.
    ///
    /// - Parameter frame: The number of a pong frame; `nil` for a `pusher:pong`.
    /// - Returns: Whether the client lives.
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
