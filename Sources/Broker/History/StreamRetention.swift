import PusherProtocol

/// Dropping messages because a budget is exceeded or because they expire.
extension Streams {
    // MARK: - Budgets

    /// Drops the oldest messages of all channels while a budget is exceeded.
    mutating func shrink(_ app: Int) -> Limit? {
        var limit: Limit?
        if let appMax = apps[app].settings.retainedBytesMax {
            let shareMax = max(appMax / shardCount, 0)
            while apps[app].byteCount > shareMax, dropOldest(of: app, .appBytes) {
                limit = .appRetainedBytes
            }
        }
        while byteCount > byteCountMax, dropOldest(of: nil, .totalBytes) {
            limit = .retainedBytesTotal
        }
        return limit
    }

    /// Drops the messages of the oldest second, of one app or of all.
    ///
    /// A stream that keeps more within that second is queued again.
    private mutating func dropOldest(
        of app: Int?,
        _ eviction: RecoveryCounts.Eviction
    ) -> Bool {
        let oldest = queues.filter { app == nil || $0.key.app == app }
            .compactMap { key, queue in queue.first.map { (key, $0) } }
            .min { $0.1.second < $1.1.second }
        guard let (key, second) = oldest else { return false }
        let time = (second.second + 1) * 1_000
        for index in second.streams where self[index].sharedRule.app == key.app {
            let dropped = change(index) { stream in
                let before = stream.retainedCount
                stream.removeAll(olderThan: time)
                stream.lastGrowth = .min
                return before - stream.retainedCount
            }
            counts.count(eviction, dropped)
        }
        apps[key.app].droppedUntil = time
        removeFirst(of: key)
        return true
    }

    private mutating func removeFirst(of key: RetentionQueue.Key) {
        queues[key]?.removeFirst()
        if queues[key]?.first == nil { queues[key] = nil }
    }

    /// How long messages of an app are kept at present, in seconds; shorter than its rules allow when a budget is
    /// exceeded.
    public func window(of app: AppID, at now: Int64) -> Int? {
        guard let state = appIndex(of: app).map({ apps[$0] }) else { return nil }
        let ageMax = ([state.settings.standard] + state.settings.rules).map(\.ageMax).max() ?? 0
        guard let droppedUntil = state.droppedUntil else { return ageMax }
        return min(ageMax, Int(max(0, now - droppedUntil) / 1_000))
    }

    // MARK: - Time

    /// Called when a channel has its first subscriber.
    mutating func becameOccupied(_ index: Int) {
        guard self[index].vacantSince != nil else { return }
        self[index].vacantSince = nil
        apps[self[index].sharedRule.app].vacantCount -= 1
    }

    /// Called when a channel has lost its last subscriber; returns the limit that made the shard forget a stream, if
    /// any.
    ///
    /// A new stream, made for a channel without subscribers, is kept.
    @discardableResult
    mutating func becameVacant(_ index: Int, at now: Int64, isNew: Bool = false) -> Limit? {
        let app = self[index].sharedRule.app
        endOpened(index)
        let countMax = max(1, apps[app].settings.positionsMax / shardCount)
        let limit = isNew ? forgetVacant(of: app, above: countMax - 1) : nil
        self[index].vacantSince = now
        apps[app].becameVacant(index, at: now, in: streams)
        return isNew ? limit : forgetVacant(of: app, above: countMax)
    }

    private mutating func forgetVacant(of app: Int, above countMax: Int) -> Limit? {
        guard apps[app].vacantCount > countMax,
            forgetLongestVacant(of: app, isBlank: true)
                || forgetLongestVacant(of: app, isBlank: false)
        else { return nil }
        guard !areCopies else { return nil }
        counts.count(.positions)
        return .recoveryPositions
    }

    /// Called when the last client has left a channel.
    ///
    /// - Returns: Whether the stream is forgotten, for example because the channel's next one has the same ID; and the
    ///   limit that made the shard forget a stream.
    mutating func wasLeft(_ index: Int, at now: Int64) -> (isForgotten: Bool, Limit?) {
        guard self[index].isBlank, isDerived(index) else {
            let limit = becameVacant(index, at: now)
            return (self[index].isRetired, limit)
        }
        endOpened(index)
        forget(index)
        return (true, nil)
    }

    /// Drops expired messages, and forgets channels that have been vacant for a day.
    public mutating func removeExpired(at now: Int64) {
        // A copy of the keys: the dictionary's own keys would share its storage, and the first change would copy each
        // queue.
        for key in Array(queues.keys) {
            while let first = queues[key]?.first,
                (first.second + 1 + Int64(key.ageMax)) * 1_000 <= now
            {
                removeFirst(of: key)
                for index in first.streams {
                    change(index) {
                        $0.removeAll(olderThan: now - Int64($0.sharedRule.ring.ageMax) * 1_000)
                    }
                    keepTrack(of: index, after: key)
                }
            }
        }
        for app in apps.indices {
            for isBlank in [true, false] {
                while let since = longestVacant(of: app, isBlank: isBlank)?.since,
                    now - since >= Self.positionAge
                {
                    if !forgetLongestVacant(of: app, isBlank: isBlank) { break }
                }
            }
        }
    }

    /// Drops all kept messages as if they had expired; the serials continue.
    public mutating func removeAllMessages() {
        for index in indices() {
            change(index) {
                $0.removeAll(olderThan: .max)
                $0.lastGrowth = .min
            }
        }
        queues = [:]
    }

    /// Queues the messages of a stream again if its maximum age was changed meanwhile.
    private mutating func keepTrack(of index: Int, after former: RetentionQueue.Key) {
        let key = RetentionQueue.Key(self[index].sharedRule)
        guard key != former, let time = self[index].oldestTime else { return }
        queues[key, default: RetentionQueue()].append(index, second: time / 1_000)
    }

    /// The channel that has been vacant longest, among those with blank streams or the others; outdated entries are
    /// dropped.
    private mutating func longestVacant(
        of app: Int,
        isBlank: Bool
    ) -> (stream: Int, since: Int64)? {
        while let entry = apps[app].firstVacant(isBlank: isBlank) {
            if self[entry.stream].sharedRule.app != app
                || self[entry.stream].vacantSince != entry.since
            {
                apps[app].dropFirstVacant(isBlank: isBlank)
            } else if isBlank, !self[entry.stream].isBlank {
                apps[app].firstBlankGrew()
            } else {
                return entry
            }
        }
        return nil
    }

    private mutating func forgetLongestVacant(of app: Int, isBlank: Bool) -> Bool {
        // A message on its way to the archive needs its stream.
        guard let (index, _) = longestVacant(of: app, isBlank: isBlank),
            self[index].unreleasedCount == 0
        else { return false }
        apps[app].dropFirstVacant(isBlank: isBlank)
        apps[app].vacantCount -= 1
        forget(index)
        return true
    }

    /// The amount that the streams keep.
    package var retainedSizes: RetainedSizes {
        var sizes = RetainedSizes()
        sizes.countedByteCount = byteCount
        for stream in streams.compactMap(\.self) {
            sizes.byteCount += stream.retainedByteCount
            sizes.channelMessages = max(sizes.channelMessages, stream.retainedCount)
            sizes.channelBytes = max(sizes.channelBytes, stream.retainedByteCount)
        }
        return sizes
    }
}
