import PusherProtocol

/// Streams in the archive, and those that a spool keeps over a stop.
extension Streams {
    /// Begins to keep the channels of rules with ``RecoveryRule/Store/archive`` in the archive.
    ///
    /// - Parameters:
    ///   - rows: The numbers of new streams.
    ///   - seeds: What the IDs of new streams follow from.
    public mutating func useArchive(_ rows: RowNumbers, _ seeds: StreamSeeds) {
        (self.rows, self.seeds) = (rows, seeds)
    }

    /// Whether the next stream of a channel has the same ID, also after a restart, although the archive does not know it.
    ///
    /// No message may be published on the channel without one: so this is only for channels that are stored always.
    func isDerived(_ index: Int) -> Bool {
        let stream = self[index]
        return stream.isStored && stream.rule.isStoredAlways
            && stream.id == seeds?.id(of: stream.address)
    }

    /// Has the next stream of a channel get another ID than this one.
    mutating func abandonID(_ index: Int) {
        let stream = self[index]
        if stream.isRowOpen {
            seeds?.forget(stream.row, of: stream.address)
        } else if stream.id == seeds?.id(of: stream.address) {
            seeds?.forget(Int64(truncatingIfNeeded: random.next()), of: stream.address)
        }
    }

    /// The last serial of a stream that an earlier run may continue: no run gives the rest of all serials.
    ///
    /// A file with a larger one is damaged; the channel begins another stream.
    private static var continuedSerialMax: UInt64 { ChannelPosition.serialMax / 2 }

    /// Continues a stream of the archive.
    ///
    /// - Parameters:
    ///   - stored: What the archive knows of it.
    ///   - isCurrent: Whether nothing can be missing; if not, the stream goes on under another ID.
    ///   - settings: The settings of the app.
    ///   - now: The time, from which its channel counts as vacant.
    /// - Returns: The index; `nil` if the channel is no longer in the archive, which is told to forget it.
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

    /// The streams that are in memory alone.
    ///
    /// - Parameter offset: The milliseconds to add for the time since 1970 (``CalendarOffset``).
    /// - Returns: The streams with their messages.
    public func spooled(calendarOffset offset: Int64) -> [SpooledStream] {
        indices().compactMap { index in
            self[index].isStored ? nil : self[index].spooled(calendarOffset: offset)
        }
    }

    /// Continues streams that were in memory alone, with their messages.
    ///
    /// - Parameters:
    ///   - spooled: The streams.
    ///   - settings: The settings of an app; `nil` if it is not served.
    ///   - now: The time, from which the channels count as vacant.
    ///   - offset: The milliseconds to add for the time since 1970.
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
            // What is in the archive is not in a spool.
            guard rule.rule.store == .memory || rows == nil else { continue }
            var restored = ChannelStream(stream.id, of: address, rule)
            restored.restore(
                lastSerial: stream.messages.first.map { $0.serial - 1 } ?? stream.lastSerial
            )
            let index = insert(restored, isVacant: true, at: now)
            var time = Int64.min
            for message in stream.messages {
                // A calendar that was set back does not change the order of a stream.
                time = max(time, message.time)
                messages.append((time, index, message))
            }
        }
        // The oldest messages of all go first, in the order in which they come.
        let order = messages.indices.sorted { (messages[$0].time, $0) < (messages[$1].time, $1) }
        for (time, index, message) in order.map({ messages[$0] }) {
            _ = append(message.frame, except: message.except, to: index, at: time - offset)
        }
    }

    /// Gives a message of a stored stream its number; it is released by ``append(_:except:to:at:)``.
    ///
    /// - Returns: What the archive has to be told of the stream first, if anything.
    public mutating func mint(_ index: Int) -> StoredStream? {
        endOpened(index)
        self[index].unreleasedCount += 1
        return openRow(index)
    }

    /// What the archive has to be told of a stream, once.
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

    /// Whether the archive need not know a stream before its first message.
    ///
    /// That is so for a channel that has the same ID after a restart, and for one that anybody may open: a crash before its
    /// first message costs a gap that is reported.
    func needsNoRow(_ index: Int) -> Bool {
        self[index].isBlank && (isDerived(index) || self[index].address.name.kind.isOpenToAll)
    }

    /// Takes back the numbers of messages that could not be written: the next ones get them.
    public mutating func takeBack(_ index: Int) {
        self[index].unreleasedCount = 0
        self[index].isRowOpen = false
    }

    /// Continues a stream under another ID, and in the archive from here on.
    ///
    /// The messages between what the archive has and here may be missing: the archive forgets what it has.
    public mutating func renew(_ index: Int) {
        guard self[index].isStored else { return }
        abandonID(index)
        if self[index].isRowOpen { forgottenRows.append(self[index].row) }
        self[index].rename(StreamID(bits: random.next()))
        self[index].row = rows?.next() ?? 0
        self[index].isRowOpen = false
    }

    /// Records whether a stored stream is in memory alone for a while: it gets another ID whenever that changes.
    public mutating func setVolatile(_ index: Int, _ isVolatile: Bool) {
        guard self[index].isVolatile != isVolatile else { return }
        renew(index)
        self[index].isVolatile = isVolatile
    }

    /// Continues all stored streams under other IDs.
    public mutating func renewAll() {
        for index in indices() { renew(index) }
    }

    /// Applies the rules of an app's new settings to its streams.
    ///
    /// - Parameters:
    ///   - settings: The settings; `nil` if the app is no longer served.
    ///   - app: The app.
    public mutating func apply(_ settings: RecoverySettings?, to app: AppID) {
        guard rows != nil, let app = appIndex(of: app), apps[app].settings != settings else {
            return
        }
        if let settings { apps[app].settings = settings }
        let unserved = SharedRule(RecoveryRule(), of: app)
        for index in indices(of: app) {
            let address = self[index].address
            let rule = settings.map { self.rule(of: address, $0) } ?? unserved
            // What is on its way to the archive is released by it.
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

    /// Removes and returns the numbers of forgotten streams.
    public mutating func takeForgottenRows() -> [Int64] {
        forgottenRows.isEmpty ? [] : exchange(&forgottenRows, with: [])
    }
}
