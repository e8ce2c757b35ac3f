public import PusherProtocol

/// The numbered sequence of a channel's messages, and the last of them.
///
/// Serials are assigned here: 1, 2, 3 … in the order that the channel's home decides. All times are milliseconds of one
/// steady clock.
public struct ChannelStream: Sendable {
    // The order saves padding: there may be a hundred thousand streams of vacant channels.
    /// The stream's ID.
    public private(set) var id: StreamID
    /// The channel.
    public let address: ChannelAddress
    /// Whether the channel is forgotten, so that nothing refers to the stream any more.
    private(set) var isRetired = false
    /// Whether the archive has a record of the stream.
    var isRowOpen = false
    /// Whether the archive lacks messages, because it could not be written for some time.
    var isVolatile = false
    /// Whether the stream counts towards ``RecoverySettings/openedStreamsMax``.
    var isOpened = false
    /// The number of messages that have a serial but are not released, because they are not in the archive yet.
    var unreleasedCount: UInt32 = 0
    /// The serial of the last message; 0 before the first.
    public private(set) var lastSerial: UInt64 = 0
    /// The stream's number in the archive; 0 if it is only in memory.
    public internal(set) var row: Int64 = 0
    /// When the channel lost its last subscriber; `nil` while it has any.
    var vacantSince: Int64?
    /// The second in which the last message was kept, for ``RetentionQueue``.
    var lastGrowth = Int32.min
    /// The address of the client that opened the stream, if it counts as opened; see ``SessionClaim/addressDigest``.
    var opener: UInt32 = 0
    /// What the channel keeps.
    var sharedRule: SharedRule
    /// At most one element: an empty array allocates nothing.
    private var rings: [MessageRing] = []

    init(
        _ id: StreamID,
        of address: ChannelAddress,
        _ rule: SharedRule,
        vacantSince: Int64? = nil
    ) {
        self.id = id
        self.address = address
        sharedRule = rule
        self.vacantSince = vacantSince
    }

    /// What the channel keeps.
    public var rule: RecoveryRule { sharedRule.rule }

    /// The last messages.
    private(set) var ring: MessageRing {
        _read {
            if rings.isEmpty {
                yield MessageRing(before: lastSerial + 1)
            } else {
                yield rings[0]
            }
        }
        _modify {
            if rings.isEmpty { rings.append(MessageRing(before: lastSerial + 1)) }
            yield &rings[0]
        }
    }

    /// Drops all kept messages, and begins another stream.
    mutating func restart(as id: StreamID) {
        self = ChannelStream(id, of: address, sharedRule, vacantSince: vacantSince)
    }

    /// Drops everything, because the channel is forgotten.
    mutating func retire() {
        restart(as: id)
        vacantSince = nil
        isRetired = true
    }

    /// The position of the last message.
    public var position: ChannelPosition { ChannelPosition(stream: id, serial: lastSerial) }

    /// Whether nothing was published on the stream, and the archive has no record of it.
    var isBlank: Bool { lastSerial == 0 && unreleasedCount == 0 && !isRowOpen }

    /// Whether messages are written to the archive before they are released.
    public var isStored: Bool { row != 0 }

    /// The serial of the next message to be numbered.
    public var nextSerial: UInt64 { lastSerial + UInt64(unreleasedCount) + 1 }

    /// The size of the kept messages, in bytes.
    public var retainedByteCount: Int { rings.isEmpty ? 0 : rings[0].byteCount }

    /// The number of kept messages.
    public var retainedCount: Int { rings.isEmpty ? 0 : rings[0].count }

    /// The serial of the oldest kept message; the next one's if there is none.
    var firstKeptSerial: UInt64 { ring.firstSerial }

    /// Whether the channel has no subscribers.
    var isVacant: Bool { vacantSince != nil }

    /// The time of the oldest kept message; `nil` if there is none.
    var oldestTime: Int64? { ring.firstTime }

    /// Numbers a message, and keeps it; `envelope` has the serial after ``lastSerial``.
    ///
    /// Returns the number of messages that are dropped for this one, by each limit of the channel.
    mutating func append(
        _ envelope: Envelope,
        except: SocketID?,
        at now: Int64
    ) -> (byCount: Int, byBytes: Int) {
        lastSerial += 1
        if unreleasedCount > 0 { unreleasedCount -= 1 }
        let limits = sharedRule.ring
        guard keeps(at: now), envelope.byteCount <= limits.bytesMax, limits.messagesMax > 0 else {
            // The serials continue, so that an old position never counts as covered.
            let dropped = ring.count + 1
            rings = []
            return (0, envelope.byteCount > rule.bytesMax ? dropped : 0)
        }
        let dropped = ring.append(envelope, serial: lastSerial, except: except, at: now, limits)
        // The archive still has the messages that leave the memory.
        return isStored ? (0, 0) : dropped
    }

    /// Whether no earlier message was kept within a second; called when one has been appended.
    mutating func isFirst(of second: Int32) -> Bool {
        guard lastGrowth != second, !rings.isEmpty else { return false }
        lastGrowth = second
        return true
    }

    /// Continues after the messages that an earlier run released.
    mutating func restore(lastSerial: UInt64) {
        self.lastSerial = lastSerial
        rings = []
    }

    /// Continues under another ID, because the archive may lack messages with serials under this one.
    mutating func rename(_ id: StreamID) { self.id = id }

    /// Removes the messages that are older than `time`.
    mutating func removeAll(olderThan time: Int64) {
        guard !rings.isEmpty else { return }
        rings[0].removeAll(olderThan: time)
        if rings[0].isEmpty { rings = [] }
    }

    /// Whether messages are kept: for the window after the last subscriber, or always.
    private func keeps(at now: Int64) -> Bool {
        guard let vacantSince, rule.keep == .whileNeeded else { return true }
        return now - vacantSince <= Int64(rule.ageMax) * 1_000
    }

    /// A page of the kept messages that a query requests.
    ///
    /// `offset` are the milliseconds to add for the time since 1970 (``CalendarOffset``).
    public func history(
        _ query: HistoryQuery,
        at now: Int64,
        calendarOffset offset: Int64
    ) -> HistoryPage {
        let first = max(query.since.map { $0 - offset } ?? .min, keptSince(now))
        let last = query.until.map { $0 - offset } ?? .max
        let (messages, hasMore) =
            first <= last
            ? ring.page(query, within: first...last, lengthMax: HistoryQuery.lengthMax)
            : ([], false)
        return HistoryPage(
            position,
            oldest: oldestSerial(at: now),
            messages: messages.map {
                HistoryPage.Message(
                    serial: $0.serial,
                    time: $0.time + offset,
                    text: Array($0.envelope.text)
                )
            },
            hasMore: hasMore
        )
    }

    /// What the stream knows about a message; without a time if it is not in memory.
    ///
    /// `offset` are the milliseconds to add for the time since 1970 (``CalendarOffset``).
    public func trace(
        _ serial: UInt64,
        at now: Int64,
        calendarOffset offset: Int64
    ) -> TracedMessage {
        let details = serial < oldestSerial(at: now) ? nil : ring.details(of: serial)
        return TracedMessage(
            ChannelPosition(stream: id, serial: serial),
            last: lastSerial,
            time: details?.time,
            published: details.map { $0.time + offset },
            except: details?.except
        )
    }

    // MARK: - Replays

    /// Decides where a subscription begins, and what is replayed to it: everything that was missed, or nothing.
    ///
    /// The request is `nil` for a client that does not track the channel; `archived` are messages of the archive that
    /// precede those in memory.
    func replay(
        for request: PositionRequest?,
        of socketID: SocketID,
        _ settings: RecoverySettings,
        behind archived: ArchivedMessages = ArchivedMessages(),
        at now: Int64
    ) -> Replay {
        guard let request, let known = request.position else {
            return opening(
                rule.opening(for: request),
                of: socketID,
                settings,
                behind: archived,
                at: now
            )
        }
        func gap(_ reason: RecoveryGap.Reason, missed: UInt64? = nil) -> Replay {
            Replay(SubscriptionStart(position, .gap(RecoveryGap(reason, missed: missed))))
        }
        guard known.stream == id else { return gap(.unknownStream) }
        guard known.serial <= lastSerial else { return gap(.ahead) }
        let missed = lastSerial - known.serial
        // More messages were not requested from the archive.
        guard !isStored || missed <= UInt64(settings.replayMessagesMax) else {
            return gap(.tooMuch, missed: missed)
        }
        let first = known.serial + 1
        guard first >= oldestSerial(behind: archived, at: now) else {
            return gap(.truncated, missed: missed)
        }
        guard firstAllowedSerial(from: first, behind: archived, settings) == first else {
            return gap(.tooMuch, missed: missed)
        }
        let socketIDs = [socketID] + request.formerSocketIDs
        return Replay(
            SubscriptionStart(known, .recovered(replay: Int(missed))),
            messages(from: first, behind: archived, for: socketIDs)
        )
    }

    /// Decides which earlier messages a client without a position gets.
    private func opening(
        _ opening: RecoveryRule.Opening,
        of socketID: SocketID,
        _ settings: RecoverySettings,
        behind archived: ArchivedMessages,
        at now: Int64
    ) -> Replay {
        guard case .replay(let count, let seconds) = opening else {
            return Replay(SubscriptionStart(position, .began))
        }
        var wanted: UInt64 = 1
        if let count { wanted = lastSerial + 1 - min(UInt64(count), lastSerial) }
        let oldest = oldestSerial(behind: archived, at: now)
        var isComplete = wanted >= oldest
        if let seconds {
            // Only these seconds were requested from the archive.
            let recent =
                archived.messages.first?.serial
                ?? ring.firstSerial(since: now - Int64(seconds) * 1_000)
            // An older message is kept, so no message of these seconds is missing.
            isComplete = isComplete || recent > oldest
            wanted = max(wanted, recent)
        }
        let kept = max(wanted, oldest)
        let first = firstAllowedSerial(from: kept, behind: archived, settings)
        if first > kept { isComplete = false }
        let start = ChannelPosition(stream: id, serial: first - 1)
        var replay = Replay(
            SubscriptionStart(start, .began),
            messages(from: first, behind: archived, for: [socketID])
        )
        replay.start.rewound = replay.messages.count
        replay.start.isRewindComplete = isComplete
        return replay
    }

    /// The serial of the oldest kept message that has not expired.
    private func oldestSerial(at now: Int64) -> UInt64 {
        max(ring.firstSerial(since: keptSince(now)), 1)
    }

    /// The time of the oldest messages that have not expired.
    func keptSince(_ now: Int64) -> Int64 { now - Int64(rule.ageMax) * 1_000 }

    private func oldestSerial(behind archived: ArchivedMessages, at now: Int64) -> UInt64 {
        archived.messages.first?.serial ?? oldestSerial(at: now)
    }

    /// The serial, at least `first`, with which the longest allowed replay begins.
    private func firstAllowedSerial(
        from first: UInt64,
        behind archived: ArchivedMessages,
        _ settings: RecoverySettings
    ) -> UInt64 {
        let countMax = UInt64(settings.replayMessagesMax)
        let allowed = lastSerial + 1 - min(countMax, lastSerial + 1 - first)
        let inMemory = ring.firstSerial(within: settings.replayBytesMax, from: allowed)
        guard inMemory <= ring.firstSerial, allowed < ring.firstSerial else {
            return max(allowed, inMemory)
        }
        let rest = settings.replayBytesMax - ring.byteCount
        return archived.firstSerial(within: rest, from: allowed, before: ring.firstSerial)
    }

    private func messages(
        from serial: UInt64,
        behind archived: ArchivedMessages,
        for socketIDs: [SocketID]
    ) -> [ReplayedMessage] {
        archived.replayed(from: serial, before: ring.firstSerial, for: socketIDs)
            + ring.messages(from: max(serial, ring.firstSerial), for: socketIDs)
    }
}

/// Where a subscription begins in its channel's stream, and the messages that it gets before live events.
public struct Replay: Sendable, Equatable {
    /// Where the subscription begins.
    public var start: SubscriptionStart
    /// The messages after the start's position, in order and without gaps.
    public var messages: [ReplayedMessage]
    /// The messages of sealed streams that the client gets before the start.
    public var former: [FormerReplay] = []

    /// Whether a cache channel's last event precedes the replay: for a client that is new, has missed something, or did
    /// not get the event the last time.
    func includesOpening(for request: PositionRequest?) -> Bool {
        if case .recovered = start.continuity { request?.wantsOpening ?? false } else { true }
    }

    /// Whether the message at a position is among the replayed ones.
    public func contains(_ position: ChannelPosition?) -> Bool {
        guard let position, position.stream == start.position.stream else { return false }
        let serials = start.position.serial..<start.position.serial + UInt64(messages.count)
        return serials.contains(position.serial &- 1)
    }

    init(_ start: SubscriptionStart, _ messages: [ReplayedMessage] = []) {
        self.start = start
        self.messages = messages
    }
}
