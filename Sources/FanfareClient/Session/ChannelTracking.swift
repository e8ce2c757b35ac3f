import PusherProtocol

/// A session's position in one channel's stream: every message up to it has been received.
///
/// An acknowledgement replaces stream and serial together; a message increments the serial by one. The position that
/// the app has handled is another one, ``HandledPosition``.
struct ChannelTracking {
    /// What to do with a numbered message.
    enum Verdict: Equatable {
        /// The next message, at this position; `nil` if the broker keeps no positions.
        case next(ChannelPosition?)
        /// The message was received before: drop it.
        case known
        /// Earlier messages did not arrive: subscribe again from the position.
        case hole(missing: UInt64)
    }

    /// The end of the replay that an acknowledgement announced.
    struct ReplayEnd: Equatable {
        /// The number of missed messages; `nil` if the subscription is new, so that nothing was missed.
        var recovered: Int?
    }

    /// The position; `nil` before the first acknowledgement and if the broker keeps none.
    private(set) var position: ChannelPosition?
    /// The earlier messages to request while there is no position.
    private var rewind: Rewind?
    /// Whether the cached event of the position has not arrived yet.
    private var awaitsOpening = false
    /// The connection whose own events, and those that exclude it, a replay leaves out.
    ///
    /// During a replay this is the previous connection. The session sends no client events meanwhile, so the replay has
    /// no events of the current connection to leave out.
    private var socketID: SocketID?
    /// The connection on which the channel is subscribed.
    private var currentSocketID: SocketID?
    /// The announced replay: the number of its last message, and how many messages were missed.
    private var replay: (end: UInt64, recovered: Int?)?
    /// The number of consecutive holes without a message in order between them.
    private(set) var holesInRow = 0

    /// Creates a state without acknowledgement; the rewind applies if there is no position.
    init(from position: ChannelPosition? = nil, rewind: Rewind? = nil) {
        self.position = position
        self.rewind = rewind
    }

    /// Creates the state for the start that the app chose; `nil` if it gave neither position nor rewind.
    init?(origin position: ChannelPosition?, _ rewind: Rewind?) {
        guard position != nil || rewind != nil else { return nil }
        self.init(from: position, rewind: rewind)
    }

    /// Returns what a reader misses that begins at its own position; `nil` for nothing.
    func gap(from start: ChannelPosition) -> Gap? {
        guard let position else { return Gap(.brokerHasNoHistory) }
        guard position.stream == start.stream else { return Gap(.unknownStream) }
        guard position.serial > start.serial else { return nil }
        return Gap(.behind, missed: Int(exactly: position.serial - start.serial))
    }

    /// The position or rewind that a subscription requests.
    var request: PositionRequest {
        var request = PositionRequest(position.flatMap(PusherProtocol.ChannelPosition.init))
        if position == nil { request.rewind = rewind.map(PositionRequest.Rewind.init) }
        guard request.position != nil else { return request }
        request.formerSocketID = socketID
        request.wantsOpening = awaitsOpening
        return request
    }

    /// Whether the subscription that it requests begins at the present.
    var isAtPresent: Bool { position == nil && rewind == nil }

    /// Whether a replay is in progress.
    var isReplaying: Bool { replay != nil }

    // MARK: Messages of the broker

    /// Handles an acknowledgement.
    ///
    /// - Parameters:
    ///   - start: The start of the subscription; `nil` if the broker keeps no positions.
    ///   - socketID: The connection.
    ///   - isLive: Whether the channel was already subscribed on this connection and continues in another stream.
    /// - Returns: The continuity since the position; `nil` if it is not new.
    mutating func acknowledged(
        _ start: SubscriptionStart?,
        on socketID: SocketID?,
        isLive: Bool = false
    ) -> Continuity? {
        guard let start else {
            guard !isLive else { return nil }
            self = ChannelTracking(rewind: rewind)
            return .unknown
        }
        let known = position
        let new = ChannelPosition(start.position)
        // The answer to an earlier request: the messages up to the position have arrived meanwhile.
        if isLive, let known, known.stream == new.stream, new.serial <= known.serial {
            guard case .gap = start.continuity else { return nil }
        }
        position = new
        rewind = nil
        awaitsOpening = start.hasOpening
        currentSocketID = socketID
        let continuity = Continuity(start, isFirst: known == nil)
        begin(continuity)
        return continuity
    }

    private mutating func begin(_ continuity: Continuity) {
        let (count, recovered): (Int, Int?) =
            switch continuity {
            case .resumed(let replayed): (replayed, replayed)
            case .rewound(let count, _): (count, nil)
            case .began, .gap, .unknown: (0, nil)
            }
        replay = ((position?.serial ?? 0) + UInt64(count), recovered)
        if case .resumed = continuity {} else { socketID = currentSocketID }
    }

    /// Handles the number of a message.
    mutating func receive(_ serial: UInt64) -> Verdict {
        guard let position else { return .next(nil) }
        guard serial > position.serial else { return .known }
        guard serial == position.serial + 1 else {
            holesInRow += 1
            return .hole(missing: serial - position.serial - 1)
        }
        holesInRow = 0
        let next = ChannelPosition(stream: position.stream, serial: serial)
        self.position = next
        return .next(next)
    }

    /// Records an event without a number: the cached event, if one is expected.
    mutating func receivedEventWithoutNumber() { awaitsOpening = false }

    /// Returns the end of the replay once, when all its messages have arrived.
    mutating func takeReplayEnd() -> ReplayEnd? {
        guard let replay, position?.serial ?? 0 >= replay.end else { return nil }
        self.replay = nil
        socketID = currentSocketID
        return ReplayEnd(recovered: replay.recovered)
    }

    /// Records that the subscription or its connection has ended.
    mutating func subscriptionEnded() { replay = nil }
}

extension ChannelPosition {
    /// Whether another position is in the same stream and the same or later.
    func precedes(_ other: ChannelPosition) -> Bool {
        stream == other.stream && serial <= other.serial
    }

    /// Converts the protocol's position.
    init(_ position: PusherProtocol.ChannelPosition) {
        self.init(stream: position.stream.text, serial: position.serial)
    }
}

extension PusherProtocol.ChannelPosition {
    /// Converts a position from the app; `nil` if no broker can have issued it.
    init?(_ position: ChannelPosition) {
        guard let stream = StreamID(position.stream), position.serial <= Self.serialMax else {
            return nil
        }
        self.init(stream: stream, serial: position.serial)
    }
}

extension PositionRequest.Rewind {
    fileprivate init(_ rewind: Rewind) {
        switch rewind {
        case .count(let count): self = .count(count)
        case .seconds(let seconds): self = .seconds(seconds)
        }
    }
}

extension Continuity {
    /// Converts an acknowledgement; a client without a position has missed nothing.
    fileprivate init(_ start: SubscriptionStart, isFirst: Bool) {
        switch start.continuity {
        case _ where isFirst:
            self =
                start.isRewindComplete.map { .rewound(count: start.rewound, isComplete: $0) }
                ?? .began
        // The broker does not know the position.
        case .began: self = .gap(Gap(.unknownStream))
        case .recovered(let replay): self = .resumed(replayed: replay)
        case .gap(let gap): self = .gap(Gap(gap))
        }
    }
}
