public import PusherProtocol

/// The numbered sequence of a channel's messages, and the last of them.
///
/// Serials are minted here: 1, 2, 3 … in the order that the channel's home gives. All times are milliseconds of one
/// steady clock.
public struct ChannelStream: Sendable {
    /// The stream's ID.
    public let id: StreamID
    /// The channel.
    public let address: ChannelAddress
    /// What the channel keeps.
    public internal(set) var rule: RecoveryRule
    /// The serial of the last message; 0 before the first.
    public private(set) var lastSerial: UInt64 = 0
    /// When the channel lost its last subscriber; `nil` while it has any.
    var vacantSince: Int64?
    /// The second in which the last message was kept, for ``RetentionQueue``.
    var lastGrowth: Int64 = -1
    private(set) var ring = MessageRing()

    init(_ id: StreamID, of address: ChannelAddress, _ rule: RecoveryRule, vacantSince: Int64?) {
        self.id = id
        self.address = address
        self.rule = rule
        self.vacantSince = vacantSince
    }

    /// The position of the last message.
    public var position: ChannelPosition { ChannelPosition(stream: id, serial: lastSerial) }

    /// The size of the kept messages, in bytes.
    public var retainedByteCount: Int { ring.byteCount }

    /// The number of kept messages.
    public var retainedCount: Int { ring.count }

    /// The time of the oldest kept message; `nil` if there is none.
    var oldestTime: Int64? { ring.firstTime }

    /// Numbers a message, and keeps it.
    ///
    /// - Parameters:
    ///   - frame: The frame with the serial behind ``lastSerial``.
    ///   - except: The connection that does not get it.
    ///   - now: The time.
    mutating func append(_ frame: [UInt8], except: SocketID?, at now: Int64) {
        lastSerial += 1
        guard keeps(at: now), frame.count <= rule.bytesMax, rule.messagesMax > 0 else {
            // The stream counts on, so that an old position is never taken for a covered one.
            return ring.removeAll(before: lastSerial + 1)
        }
        ring.append(frame, serial: lastSerial, except: except, at: now)
        while ring.count > rule.messagesMax || ring.byteCount > rule.bytesMax { ring.removeFirst() }
    }

    /// Removes the messages that are older than `time`.
    mutating func removeAll(olderThan time: Int64) { ring.removeAll(olderThan: time) }

    /// Whether messages are kept: for the window behind the last subscriber, or always.
    private func keeps(at now: Int64) -> Bool {
        guard rule.keep == .whileNeeded, let vacantSince else { return true }
        return now - vacantSince <= Int64(rule.ageMax) * 1_000
    }

    /// The kept messages that a query asks for.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - now: The time.
    ///   - offset: The milliseconds to add for the time since 1970 (``CalendarOffset``).
    ///   - headerLength: The length of what precedes the message in a frame.
    /// - Returns: A page of at most 1 MiB, or of one message.
    public func history(
        _ query: HistoryQuery,
        at now: Int64,
        calendarOffset offset: Int64,
        headerLength: ([UInt8]) -> Int
    ) -> HistoryPage {
        let oldest = now - Int64(rule.ageMax) * 1_000
        let first = max(query.since.map { $0 - offset } ?? .min, oldest)
        let last = query.until.map { $0 - offset } ?? .max
        let (messages, hasMore) =
            first <= last ? ring.page(query, within: first...last, lengthMax: 1 << 20) : ([], false)
        return HistoryPage(
            position,
            oldest: oldestSerial(at: now),
            messages: messages.map { serial, time, frame in
                let text = Array(frame[headerLength(frame)...])
                return HistoryPage.Message(serial: serial, time: time + offset, text: text)
            },
            hasMore: hasMore
        )
    }

    // MARK: - Replays

    /// Decides where a subscription begins, and what is replayed to it: all that was missed, or nothing.
    ///
    /// - Parameters:
    ///   - request: The client's position.
    ///   - settings: The limits of a replay.
    ///   - now: The time.
    /// - Returns: The start of the subscription, and the messages behind it.
    func replay(for request: PositionRequest, _ settings: RecoverySettings, at now: Int64) -> Replay
    {
        guard let known = request.position else { return rewind(request.rewind, settings, at: now) }
        func gap(_ reason: RecoveryGap.Reason, missed: UInt64? = nil) -> Replay {
            Replay(SubscriptionStart(position, .gap(RecoveryGap(reason, missed: missed))))
        }
        guard known.stream == id else { return gap(.unknownStream) }
        guard known.serial <= lastSerial else { return gap(.ahead) }
        let missed = lastSerial - known.serial
        let oldest = oldestSerial(at: now)
        guard known.serial + 1 >= oldest else { return gap(.truncated, missed: missed) }
        guard isAllowed(from: known.serial + 1, settings) else {
            return gap(.tooMuch, missed: missed)
        }
        return Replay(
            SubscriptionStart(known, .recovered(replay: Int(missed))),
            ring.messages(from: known.serial + 1, for: request.formerSocketIDs)
        )
    }

    private func rewind(
        _ rewind: PositionRequest.Rewind?,
        _ settings: RecoverySettings,
        at now: Int64
    ) -> Replay {
        guard let rewind, rule.allowsRewind else {
            return Replay(SubscriptionStart(position, .began))
        }
        let oldest = oldestSerial(at: now)
        var first: UInt64
        var isComplete: Bool
        switch rewind {
        case .count(let count):
            first = lastSerial + 1 - min(UInt64(count), lastSerial)
            isComplete = first >= oldest
        case .seconds(let seconds):
            first = ring.firstSerial(since: now - Int64(seconds) * 1_000)
            isComplete = first > oldest || oldest == 1
        }
        first = max(first, oldest)
        while !isAllowed(from: first, settings) {
            first += 1
            isComplete = false
        }
        let start = ChannelPosition(stream: id, serial: first - 1)
        var replay = Replay(SubscriptionStart(start, .began), ring.messages(from: first, for: []))
        replay.start.rewound = replay.messages.count
        replay.start.isRewindComplete = isComplete
        return replay
    }

    /// The serial of the oldest message that is kept and not too old.
    private func oldestSerial(at now: Int64) -> UInt64 {
        max(ring.firstSerial(since: now - Int64(rule.ageMax) * 1_000), 1)
    }

    private func isAllowed(from serial: UInt64, _ settings: RecoverySettings) -> Bool {
        guard lastSerial + 1 - serial <= UInt64(settings.replayMessagesMax) else { return false }
        return ring.byteCount(from: serial) <= settings.replayBytesMax
    }
}

/// Where a subscription begins in its channel's stream, and the messages that it gets ahead of live events.
public struct Replay: Sendable, Equatable {
    /// Where the subscription begins.
    public var start: SubscriptionStart
    /// The messages behind the start's position, in order and without gaps.
    public var messages: [ReplayedMessage]

    /// Whether a cache channel's last event precedes what follows: for a client that is new or has missed something,
    /// or that did not get it the last time.
    func includesOpening(for request: PositionRequest?) -> Bool {
        if case .recovered = start.continuity { request?.wantsOpening ?? false } else { true }
    }

    init(_ start: SubscriptionStart, _ messages: [ReplayedMessage] = []) {
        self.start = start
        self.messages = messages
    }
}
