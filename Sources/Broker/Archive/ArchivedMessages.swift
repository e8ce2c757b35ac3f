public import PusherProtocol

/// Messages of the archive that precede those in memory, in order and without gaps.
public struct ArchivedMessages: Sendable {
    /// The messages.
    public private(set) var messages: [StoredMessage]
    /// The streams before the present one; `nil` for a client whose position is in the present stream.
    public let former: FormerStreams?

    /// Creates a list of messages in order, and of the former streams for a client whose position is in one of them.
    public init(_ messages: [StoredMessage] = [], behind former: FormerStreams? = nil) {
        self.messages = messages
        self.former = former
    }

    /// The serial of the first of the last messages before `end` that together take at most `byteCountMax` bytes.
    ///
    /// At least `first`, and at most `end`.
    func firstSerial(
        within byteCountMax: Int,
        from first: UInt64,
        before end: UInt64
    ) -> UInt64 {
        var (serial, byteCount) = (end, 0)
        for message in messages.reversed() where message.serial < end {
            byteCount += message.envelope.byteCount
            guard byteCount <= byteCountMax, message.serial >= first else { break }
            serial = message.serial
        }
        return serial
    }

    /// The messages of a range of serials, without those that exclude one of the client's connections.
    func replayed(
        from serial: UInt64,
        before end: UInt64,
        for socketIDs: [SocketID]
    ) -> [ReplayedMessage] {
        messages.lazy.filter { $0.serial >= serial && $0.serial < end }
            .map { message in
                message.except.map(socketIDs.contains) == true
                    ? .leftOut(message.serial) : .envelope(message.envelope)
            }
    }
}

extension [StoredMessage] {
    /// Removes the messages up to the last one that is older than `time`, in milliseconds since 1970.
    ///
    /// The messages after that one stay, whatever their times, because a replay has no gaps.
    public mutating func removeAll(olderThan time: Int64) {
        guard let last = lastIndex(where: { $0.time < time }) else { return }
        removeFirst(last + 1)
    }
}

/// The archive's numbers of a shard's streams: each shard has its own.
public struct RowNumbers: Sendable {
    private var row: Int64
    private let step: Int64

    /// Creates the numbers of a shard, from `first`, the lowest number that no stream has had.
    public init(from first: Int64, shard: Int, of shardCount: Int) {
        row = max(first, 1) + Int64(shard)
        step = Int64(shardCount)
    }

    mutating func next() -> Int64 {
        defer { row += step }
        return row
    }
}

extension ChannelStream {
    /// What a replay needs from the archive because the messages in memory begin too late.
    ///
    /// The request has the subscription's position in the stream's own ID; it is `nil` for a client that does not track
    /// the channel. `offset` are the milliseconds to add for the time since 1970 (``CalendarOffset``). Returns a query
    /// for the newest messages first; `nil` if the messages in memory suffice, or the archive would not help.
    public func archiveQuery(
        for request: PositionRequest?,
        _ settings: RecoverySettings,
        at now: Int64,
        calendarOffset offset: Int64
    ) -> ArchiveQuery? {
        guard isStored else { return nil }
        var page = HistoryQuery()
        page.isNewestFirst = true
        let kept = ring.firstSerial
        page.before = kept
        if let known = request?.position {
            guard known.stream == id, known.serial < lastSerial, known.serial + 1 < kept else {
                return nil
            }
            page.after = known.serial
        } else if case .replay(let count, let seconds) = rule.opening(for: request), kept > 1 {
            let wanted = UInt64(min(count ?? .max, settings.replayMessagesMax))
            guard wanted > lastSerial + 1 - kept else { return nil }
            page.after = lastSerial - min(wanted, lastSerial)
            if let seconds {
                let first = now - Int64(seconds) * 1_000
                if let time = ring.firstTime, time < first { return nil }
                page.since = first + offset
            }
        } else {
            return nil
        }
        page.limit = settings.replayMessagesMax + 1
        let missing = page.after.map { kept - $0 - 1 } ?? 0
        guard missing <= UInt64(settings.replayMessagesMax) else { return nil }
        return ArchiveQuery(row: row, page, bytesMax: settings.replayBytesMax)
    }

    /// Whether the archive's messages reach those in memory, where messages may have been dropped meanwhile.
    public func isContinuous(behind archived: ArchivedMessages) -> Bool {
        guard let last = archived.messages.last else { return true }
        return last.serial + 1 >= ring.firstSerial
    }

    /// The time since 1970 of the oldest messages that have not expired, in milliseconds.
    public func keptSince(_ now: Int64, calendarOffset offset: Int64) -> Int64 {
        keptSince(now) + offset
    }

    /// The query for a page of history, without expired messages; `nil` if the messages in memory contain all of it.
    public func archiveQuery(
        for query: HistoryQuery,
        at now: Int64,
        calendarOffset offset: Int64
    ) -> ArchiveQuery? {
        // Also for messages that are all in memory: only the file knows the oldest one.
        guard isStored, ring.firstSerial > 1 else { return nil }
        var page = query
        // Messages that are not released yet are not shown.
        page.before = min(query.before ?? .max, lastSerial + 1)
        page.since = max(query.since ?? .min, keptSince(now, calendarOffset: offset))
        return ArchiveQuery(row: row, page, bytesMax: HistoryQuery.lengthMax)
    }

    /// The query for one message; `nil` if it is in memory, or if the stream has not reached it.
    public func archiveQuery(forMessage serial: UInt64) -> ArchiveQuery? {
        guard isStored, serial > 0, serial < ring.firstSerial, serial <= lastSerial else {
            return nil
        }
        var page = HistoryQuery()
        (page.after, page.before, page.limit) = (serial - 1, serial + 1, 1)
        return ArchiveQuery(row: row, page, bytesMax: 0)
    }

    /// What the archive's answer says about a message; without a time if the archive no longer has it.
    ///
    /// `page` is the answer to ``archiveQuery(forMessage:)``, and `offset` the milliseconds to add for the time since
    /// 1970 (``CalendarOffset``).
    public func trace(
        _ serial: UInt64,
        in page: ArchivePage,
        calendarOffset offset: Int64
    ) -> TracedMessage {
        let message = page.messages.first { $0.serial == serial }
        return TracedMessage(
            ChannelPosition(stream: id, serial: serial),
            last: lastSerial,
            time: message.map { $0.time - offset },
            published: message?.time,
            except: message?.except
        )
    }

    /// The answer to a backend's query, made of the archive's answer.
    public func history(_ page: ArchivePage) -> HistoryPage {
        HistoryPage(
            position,
            oldest: page.oldest == 0 ? lastSerial + 1 : page.oldest,
            messages: page.messages.map {
                HistoryPage.Message(serial: $0.serial, time: $0.time, text: Array($0.envelope.text))
            },
            hasMore: page.hasMore
        )
    }
}
