import PusherProtocol

/// Streams in the archive, and streams that a spool preserves while the broker is stopped.
extension Streams {
    /// Begins to store the channels of rules with ``RecoveryRule/Store/archive`` in the archive.
    ///
    /// - Parameters:
    ///   - rows: The numbers of new streams.
    ///   - seeds: The seeds from which the IDs of new streams are derived.
    public mutating func useArchive(_ rows: RowNumbers, _ seeds: StreamSeeds) {
        (self.rows, self.seeds) = (rows, seeds)
    }

    /// Whether the next stream of a channel has the same ID, also after a restart, although it is not in the archive.
    ///
    /// Only for channels that are always stored, because no message may be published on such a channel without an
    /// archived stream.
    func isDerived(_ index: Int) -> Bool {
        let stream = self[index]
        return stream.isStored && stream.rule.isStoredAlways
            && stream.id == seeds?.id(of: stream.address)
    }

    /// Gives the next stream of a channel another ID than this one.
    mutating func abandonID(_ index: Int) {
        let stream = self[index]
        if stream.isRowOpen {
            seeds?.forget(stream.row, of: stream.address)
        } else if stream.id == seeds?.id(of: stream.address) {
            seeds?.forget(Int64(truncatingIfNeeded: random.next()), of: stream.address)
        }
    }

    /// The last serial of a stream that an earlier run may continue; no run assigns the other half of the serials.
    ///
    /// A file with a larger serial is damaged; the channel begins another stream.
    private static var continuedSerialMax: UInt64 { ChannelPosition.serialMax / 2 }

    /// Continues a stream of the archive, and returns its index.
    ///
    /// `isCurrent` is whether no message can be missing; if not, the stream continues under another ID. The channel
    /// counts as vacant from `now`. Returns `nil` if the channel is no longer archived, and the archive has to remove
    /// the stream.
    @discardableResult
    public mutating func restore(
        _ stored: StoredStream,
        isCurrent: Bool,
        _ settings: RecoverySettings?,
        at now: Int64
    ) -> Int? {
        guard let settings, settings.isEnabled,
            settings.rule(of: stored.address.name).store == .archive,
            stored.lastSerial <= Self.continuedSerialMax
        else {
            forgottenRows.append(stored.row)
            seeds?.forget(stored.row, of: stored.address)
            return nil
        }
        let (address, rule) = (stored.address, rule(of: stored.address, settings))
        var stream = ChannelStream(stored.id, of: address, rule)
        stream.restore(lastSerial: stored.lastSerial)
        stream.row = stored.row
        stream.isRowOpen = isCurrent && stored.limits == StoredStream.Limits(rule.rule)
        if !isCurrent { stream.rename(StreamID(bits: random.next())) }
        return insert(stream, isVacant: true, at: now)
    }

    /// The streams that are only in memory, with their messages.
    ///
    /// - Parameter offset: The milliseconds to add for the time since 1970 (``CalendarOffset``).
    /// - Returns: The streams.
    public func spooled(calendarOffset offset: Int64) -> [SpooledStream] {
        indices().compactMap { index in
            self[index].isStored ? nil : self[index].spooled(calendarOffset: offset)
        }
    }

    /// Continues streams that were only in memory, with their messages.
    ///
    /// `settings` returns `nil` for an app that is not served. The channels count as vacant from `now`. `offset` are
    /// the milliseconds to add for the time since 1970.
    public mutating func restore(
        _ spooled: [SpooledStream],
        _ settings: (AppID) -> RecoverySettings?,
        at now: Int64,
        calendarOffset offset: Int64
    ) {
        var messages: [(time: Int64, index: Int, message: StoredMessage)] = []
        for stream in spooled
        where index(of: stream.address) == nil && stream.lastSerial <= Self.continuedSerialMax {
            let address = stream.address
            guard let settings = settings(address.app), settings.isEnabled else { continue }
            let rule = rule(of: address, settings)
            // Archived streams are not in a spool.
            guard rule.rule.store == .memory || rows == nil else { continue }
            var restored = ChannelStream(stream.id, of: address, rule)
            restored.restore(
                lastSerial: stream.messages.first.map { $0.serial - 1 } ?? stream.lastSerial
            )
            let index = insert(restored, isVacant: true, at: now)
            var time = Int64.min
            for message in stream.messages {
                // Setting the calendar back does not change the order of a stream.
                time = max(time, message.time)
                messages.append((time, index, message))
            }
        }
        // The oldest messages of all are dropped first, in the order in which they are restored.
        let order = messages.indices.sorted { (messages[$0].time, $0) < (messages[$1].time, $1) }
        for (time, index, message) in order.map({ messages[$0] }) {
            _ = append(message.envelope, except: message.except, to: index, at: time - offset)
        }
    }

    /// Assigns a serial to a message of a stored stream; ``append(_:except:to:at:)`` releases the message.
    ///
    /// - Returns: The stream's record if the archive needs it first; `nil` otherwise.
    public mutating func mint(_ index: Int) -> StoredStream? {
        endOpened(index)
        self[index].unreleasedCount += 1
        return openRow(index)
    }

    /// The stream's record, if the archive does not have it yet; returned once.
    public mutating func openRow(_ index: Int) -> StoredStream? {
        guard !self[index].isRowOpen else { return nil }
        endOpened(index)
        self[index].isRowOpen = true
        let stream = self[index]
        return StoredStream(
            row: stream.row,
            stream.address,
            stream.id,
            lastSerial: stream.lastSerial,
            StoredStream.Limits(stream.rule)
        )
    }

    /// Whether the archive needs no record of a stream before its first message.
    ///
    /// True for a channel that has the same ID after a restart, and for one that any client may open. After a crash
    /// before its first message, clients are notified of a gap.
    func needsNoRow(_ index: Int) -> Bool {
        self[index].isBlank && (isDerived(index) || self[index].address.name.kind.isOpenToAll)
    }

    /// Takes back the serials of messages that could not be written; the next messages get them.
    public mutating func takeBack(_ index: Int) {
        self[index].unreleasedCount = 0
        self[index].isRowOpen = false
    }

    /// Continues a stream under another ID, and in the archive from here on.
    ///
    /// The messages between the archived ones and this point may be missing, so the archive drops what it has.
    public mutating func renew(_ index: Int) {
        guard self[index].isStored else { return }
        abandonID(index)
        if self[index].isRowOpen { forgottenRows.append(self[index].row) }
        self[index].rename(StreamID(bits: random.next()))
        self[index].row = rows?.next() ?? 0
        self[index].isRowOpen = false
    }

    /// Records whether a stored stream is temporarily only in memory; each change gives the stream another ID.
    public mutating func setVolatile(_ index: Int, _ isVolatile: Bool) {
        guard self[index].isVolatile != isVolatile else { return }
        renew(index)
        self[index].isVolatile = isVolatile
    }

    /// Continues all stored streams under other IDs.
    public mutating func renewAll() {
        for index in indices() { renew(index) }
    }

    /// Applies the rules of an app's new settings to its streams; `nil` settings if the app is no longer served.
    public mutating func apply(_ settings: RecoverySettings?, to app: AppID) {
        guard rows != nil, let app = appIndex(of: app), apps[app].settings != settings else {
            return
        }
        if let settings { apps[app].settings = settings }
        let unserved = SharedRule(RecoveryRule(), of: app)
        for index in indices(of: app) {
            let address = self[index].address
            let rule = settings.map { self.rule(of: address, $0) } ?? unserved
            // Messages on their way to the archive are released when they are written.
            guard self[index].unreleasedCount == 0 else { continue }
            self[index].sharedRule = rule
            if rule.rule.store == .archive {
                if !self[index].isStored { self[index].row = rows?.next() ?? 0 }
            } else if self[index].isStored {
                abandonID(index)
                forgottenRows.append(self[index].row)
                self[index].row = 0
            }
            self[index].isRowOpen = false
        }
    }

    /// Removes and returns the archive numbers of forgotten streams.
    public mutating func takeForgottenRows() -> [Int64] {
        forgottenRows.isEmpty ? [] : exchange(&forgottenRows, with: [])
    }
}
