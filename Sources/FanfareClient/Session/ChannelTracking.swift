import PusherProtocol

/// The position of a session in one channel's stream: up to where every message has been received.
///
/// Stream and serial are only replaced together, by an acknowledgement; a message moves the serial by one. What the app
/// has handled is another position, ``HandledPosition``.
struct ChannelTracking {
    /// What to do with a message that has a number.
    enum Verdict: Equatable {
        /// The next message, at this position; without one if the broker keeps no positions.
        case next(ChannelPosition?)
        /// Received before: drop it.
        case known
        /// Messages before it did not arrive: subscribe again from the position.
        case hole(missing: UInt64)
    }

    /// The end of the earlier messages that an acknowledgement announced.
    struct ReplayEnd: Equatable {
        /// The number of missed messages; `nil` if nothing was missed, because the subscription is new.
        var recovered: Int?
    }

    /// The position; `nil` before the first acknowledgement, and if the broker keeps none.
    private(set) var position: ChannelPosition?
    /// Which earlier messages to ask for, while there is no position.
    private var rewind: Rewind?
    /// Whether the cached event that belongs to the position has not arrived.
    private var awaitsOpening = false
    /// The connection whose own events, and those that exclude it, a replay leaves out.
    ///
    /// While a replay arrives it is the connection before: the session sends no client events meanwhile, so that the
    /// current one has nothing to leave out.
    private var socketID: SocketID?
    /// The connection that the channel is subscribed on.
    private var currentSocketID: SocketID?
    /// The earlier messages that an acknowledgement announced: the number of the last one, and how many were missed.
    private var replay: (end: UInt64, recovered: Int?)?
    /// The number of holes without a message in order between them.
    private(set) var holesInRow = 0

    /// Creates a state without acknowledgement.
    ///
    /// - Parameters:
    ///   - position: The position to go on from.
    ///   - rewind: Which earlier messages to ask for if there is no position.
    init(from position: ChannelPosition? = nil, rewind: Rewind? = nil) {
        self.position = position
        self.rewind = rewind
    }

    /// Creates the state that an app begins with; `nil` if it gives neither.
    init?(origin position: ChannelPosition?, _ rewind: Rewind?) {
        guard position != nil || rewind != nil else { return nil }
        self.init(from: position, rewind: rewind)
    }

    /// What a subscription asks for.
    var request: PositionRequest {
        var request = PositionRequest(position.flatMap(PusherProtocol.ChannelPosition.init))
        if position == nil { request.rewind = rewind.map(PositionRequest.Rewind.init) }
        guard request.position != nil else { return request }
        request.formerSocketID = socketID
        request.wantsOpening = awaitsOpening
        return request
    }

    /// Whether earlier messages arrive.
    var isReplaying: Bool { replay != nil }

    // MARK: Messages of the broker

    /// Handles an acknowledgement.
    ///
    /// - Parameters:
    ///   - start: Where the subscription begins; `nil` from a broker that keeps no positions.
    ///   - socketID: The connection.
    ///   - isLive: Whether the channel was subscribed before on this connection: it goes on in another stream.
    /// - Returns: What it says about the time since the position; `nil` if it says nothing new.
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
        // The answer to an earlier request: the messages up to the position arrived meanwhile.
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

    /// Records that an event without a number has arrived: the cached event, if one is expected.
    mutating func receivedEventWithoutNumber() { awaitsOpening = false }

    /// Returns the end of the replay, once, when all its messages have arrived.
    mutating func takeReplayEnd() -> ReplayEnd? {
        guard let replay, position?.serial ?? 0 >= replay.end else { return nil }
        self.replay = nil
        socketID = currentSocketID
        return ReplayEnd(recovered: replay.recovered)
    }

    /// Records that the subscription has ended, on this connection or with it.
    mutating func subscriptionEnded() { replay = nil }
}

extension ChannelPosition {
    /// The position in the broker's words.
    init(_ position: PusherProtocol.ChannelPosition) {
        self.init(stream: position.stream.text, serial: position.serial)
    }
}

extension PusherProtocol.ChannelPosition {
    /// The position of an app; `nil` if no broker can have given it.
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
    /// What an acknowledgement says; a client without a position has missed nothing.
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
