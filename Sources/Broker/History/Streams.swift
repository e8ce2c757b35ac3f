public import PusherProtocol

/// The streams of one home shard's channels, within the budgets of their apps and of the broker.
///
/// A stream is made when a client first tracks its channel, or by a rule with ``RecoveryRule/Keep/always``. It outlives
/// its subscribers: what is kept for the window, and the last serial for a day, so that a silent channel is recovered and
/// not guessed. All times are milliseconds of one steady clock.
public struct Streams: Sendable {
    /// How long the last serial of a channel without subscribers is remembered, in milliseconds.
    public static let positionAge: Int64 = 86_400_000

    private struct QueueKey: Hashable {
        let app: AppID
        let ageMax: Int
    }

    var streams: [ChannelStream?] = []
    private var freeIndices: [Int] = []
    private var indices = KeyedIndices<ChannelAddress>()
    var apps: [AppID: AppState] = [:]
    private var queues: [QueueKey: RetentionQueue] = [:]
    var random: SplitMix64
    /// The number of shards, which divide the budgets among themselves.
    private let shardCount: Int
    /// The maximum size of all kept messages of this shard, in bytes.
    private let byteCountMax: Int
    /// The maximum size of one replay, in bytes, whatever the app's settings say.
    private let replayBytesMax: Int

    /// The numbers of streams in the archive; `nil` without an archive, where all rules keep in memory.
    var rows: RowNumbers?
    /// The numbers of forgotten streams that the archive has not been told of.
    var forgottenRows: [Int64] = []

    /// The size of all kept messages, in bytes.
    public private(set) var byteCount = 0
    /// The results of subscriptions, and what was dropped before its time.
    public private(set) var counts = RecoveryCounts()

    /// Creates a table without streams.
    ///
    /// - Parameters:
    ///   - seed: Random bits, for the stream IDs.
    ///   - shardCount: The number of shards, which divide the budgets among themselves.
    ///   - retainedBytesMax: The maximum size of all kept messages of the broker, in bytes.
    ///   - replayBytesMax: The maximum size of one replay, in bytes.
    public init(
        seed: UInt64,
        shardCount: Int = 1,
        retainedBytesMax: Int = .max,
        replayBytesMax: Int = .max
    ) {
        self.replayBytesMax = replayBytesMax
        random = SplitMix64(state: seed)
        self.shardCount = shardCount
        byteCountMax = retainedBytesMax / shardCount
    }

    /// Whether no channel has a stream.
    public var isEmpty: Bool { indices.isEmpty }

    /// The number of streams.
    public var count: Int { indices.count }

    // swift-format-ignore: NeverForceUnwrap
    /// The stream at an index.
    public subscript(index: Int) -> ChannelStream {
        // In its place: a copy would retain all that it refers to, for each published event.
        _read { yield streams[index]! }
    }

    /// The index of a channel's stream; `nil` if it has none.
    public func index(of address: ChannelAddress) -> Int? {
        indices.index(of: address) { streams[$0]?.address }
    }

    /// Returns the index of a channel's stream, and makes one if it has none.
    ///
    /// - Parameters:
    ///   - address: The channel.
    ///   - settings: The app's settings.
    ///   - isVacant: Whether the channel has no subscribers.
    ///   - now: The time.
    /// - Returns: The index.
    public mutating func open(
        _ address: ChannelAddress,
        _ settings: RecoverySettings,
        isVacant: Bool,
        at now: Int64
    ) -> Int {
        let rule = rule(of: address, settings)
        if let index = index(of: address) {
            streams[index]?.sharedRule = rule
            return index
        }
        var stream = ChannelStream(StreamID(bits: random.next()), of: address, rule)
        if rule.rule.store == .archive { stream.row = rows?.next() ?? 0 }
        return insert(stream, isVacant: isVacant, at: now)
    }

    /// What a channel keeps, which its stream refers to.
    mutating func rule(of address: ChannelAddress, _ settings: RecoverySettings) -> SharedRule {
        apps[address.app, default: AppState(settings)].settings = settings
        return apps[address.app, default: AppState(settings)].rule(of: address.name)
    }

    /// The indices of an app's streams; of all without an app.
    func indices(of app: AppID? = nil) -> [Int] {
        streams.indices.filter { index in
            streams[index].map { app == nil || $0.address.app == app } ?? false
        }
    }

    mutating func insert(_ stream: ChannelStream, isVacant: Bool, at now: Int64) -> Int {
        let index = freeIndices.popLast() ?? streams.count
        if index == streams.count { streams.append(stream) } else { streams[index] = stream }
        indices.insert(index) { streams[$0]?.address }
        if isVacant { becameVacant(index, at: now) }
        return index
    }

    /// Replaces what the channels of an app keep, after its configuration has changed.
    mutating func replaceSettings(_ settings: RecoverySettings, of app: AppID) {
        guard apps[app] != nil else { return }
        apps[app]?.settings = settings
        for index in indices(of: app) {
            let rule = rule(of: self[index].address, settings)
            streams[index]?.sharedRule = rule
        }
    }

    /// Drops the kept messages of a channel, which goes on in another stream.
    mutating func restart(_ index: Int) {
        let (id, former) = (StreamID(bits: random.next()), self[index])
        change(index) { $0.restart(as: id) }
        guard former.isStored else { return }
        if former.isRowOpen { forgottenRows.append(former.row) }
        streams[index]?.row = rows?.next() ?? 0
        streams[index]?.isVolatile = former.isVolatile
    }

    // MARK: - Messages

    /// The serial of the next message.
    public func nextSerial(_ index: Int) -> UInt64 { self[index].nextSerial }

    /// Numbers a message, keeps it, and drops the oldest ones above a limit.
    ///
    /// - Parameters:
    ///   - frame: The frame with ``nextSerial(_:)``.
    ///   - except: The connection that does not get it.
    ///   - index: The index of the stream.
    ///   - now: The time.
    /// - Returns: The limit that dropped messages before their time.
    public mutating func append(
        _ frame: [UInt8],
        except: SocketID?,
        to index: Int,
        at now: Int64
    ) -> Limit? {
        let second = Int32(truncatingIfNeeded: now / 1_000)
        let (isFirst, dropped) = change(index) { stream in
            let dropped = stream.append(frame, except: except, at: now)
            let isFirst = stream.lastGrowth != second && stream.retainedCount > 0
            if isFirst { stream.lastGrowth = second }
            return (isFirst, dropped)
        }
        if dropped.byCount > 0 { counts.count(.channelMessages, dropped.byCount) }
        if dropped.byBytes > 0 { counts.count(.channelBytes, dropped.byBytes) }
        let stream = self[index]
        if isFirst {
            let key = QueueKey(app: stream.address.app, ageMax: stream.rule.ringAgeMax)
            queues[key, default: RetentionQueue()].append(index, second: now / 1_000)
        }
        return shrink(stream.address.app)
    }

    /// Decides where a subscription begins, and what is replayed to it.
    ///
    /// - Parameters:
    ///   - index: The index of the stream.
    ///   - request: The client's position; `nil` for a client that does not track the channel.
    ///   - socketID: The client's connection.
    ///   - settings: The app's settings.
    ///   - archived: Messages of the archive that precede those in memory.
    ///   - now: The time.
    /// - Returns: The start of the subscription, and the messages behind it.
    public mutating func replay(
        _ index: Int,
        for request: PositionRequest?,
        of socketID: SocketID,
        _ settings: RecoverySettings,
        behind archived: ArchivedMessages = ArchivedMessages(),
        at now: Int64
    ) -> Replay {
        var settings = settings
        settings.replayBytesMax = min(settings.replayBytesMax, replayBytesMax)
        let replay = self[index].replay(
            for: request,
            of: socketID,
            settings,
            behind: archived,
            at: now
        )
        counts.count(replay.start)
        return replay
    }

    /// Changes a stream, and the sizes with it.
    mutating func change<R>(_ index: Int, _ body: (inout ChannelStream) -> R) -> R {
        guard var stream = exchange(&streams[index], with: nil) else {
            preconditionFailure("no stream at \(index)")
        }
        let before = stream.retainedByteCount
        let result = body(&stream)
        let growth = stream.retainedByteCount - before
        byteCount += growth
        apps[stream.address.app]?.byteCount += growth
        streams[index] = stream
        return result
    }

    // MARK: - Budgets

    /// Drops the oldest messages of all channels while a budget is exceeded.
    private mutating func shrink(_ app: AppID) -> Limit? {
        var limit: Limit?
        if let appMax = apps[app]?.settings.retainedBytesMax {
            while apps[app]?.byteCount ?? 0 > max(appMax / shardCount, 0),
                dropOldest(of: app, .appBytes)
            {
                limit = .appRetainedBytes
            }
        }
        while byteCount > byteCountMax, dropOldest(of: nil, .totalBytes) {
            limit = .retainedBytesTotal
        }
        return limit
    }

    /// Drops the messages of the oldest second, of one app or of all.
    private mutating func dropOldest(
        of app: AppID?,
        _ eviction: RecoveryCounts.Eviction
    ) -> Bool {
        let oldest = queues.filter { app == nil || $0.key.app == app }
            .compactMap { key, queue in queue.first.map { (key, $0) } }
            .min { $0.1.second < $1.1.second }
        guard let (key, second) = oldest else { return false }
        let time = (second.second + 1) * 1_000
        for index in second.streams where streams[index]?.address.app == key.app {
            let dropped = change(index) { stream in
                let before = stream.retainedCount
                stream.removeAll(olderThan: time)
                return before - stream.retainedCount
            }
            counts.count(eviction, dropped)
        }
        apps[key.app]?.droppedUntil = time
        removeFirst(of: key)
        return true
    }

    private mutating func removeFirst(of key: QueueKey) {
        queues[key]?.removeFirst()
        if queues[key]?.first == nil { queues[key] = nil }
    }

    /// How long messages of an app are kept at present, in seconds: less than its rules say where a budget is short.
    public func window(of app: AppID, at now: Int64) -> Int? {
        guard let state = apps[app] else { return nil }
        let ageMax = ([state.settings.standard] + state.settings.rules).map(\.ageMax).max() ?? 0
        guard let droppedUntil = state.droppedUntil else { return ageMax }
        return min(ageMax, Int(max(0, now - droppedUntil) / 1_000))
    }

    // MARK: - Time

    /// Called when a channel has its first subscriber.
    mutating func becameOccupied(_ index: Int) {
        guard streams[index]?.vacantSince != nil, let app = streams[index]?.address.app else {
            return
        }
        streams[index]?.vacantSince = nil
        apps[app]?.vacantCount -= 1
    }

    /// Called when a channel has lost its last subscriber.
    ///
    /// - Returns: The limit that forgot the stream of another channel.
    @discardableResult
    mutating func becameVacant(_ index: Int, at now: Int64) -> Limit? {
        let app = self[index].address.app
        streams[index]?.vacantSince = now
        apps[app]?.becameVacant(index, at: now, in: streams)
        let positionsMax = apps[app]?.settings.positionsMax ?? .max
        guard apps[app]?.vacantCount ?? 0 > max(1, positionsMax / shardCount),
            forgetLongestVacant(of: app)
        else { return nil }
        counts.count(.positions)
        return .recoveryPositions
    }

    /// Drops messages that are too old, and forgets channels that have been vacant for a day.
    public mutating func removeExpired(at now: Int64) {
        for key in queues.keys {
            while let first = queues[key]?.first,
                (first.second + 1 + Int64(key.ageMax)) * 1_000 <= now
            {
                removeFirst(of: key)
                for index in first.streams where streams[index] != nil {
                    change(index) {
                        $0.removeAll(olderThan: now - Int64($0.rule.ringAgeMax) * 1_000)
                    }
                    keepTrack(of: index, after: key)
                }
            }
        }
        for app in apps.keys {
            while let since = longestVacant(of: app)?.since, now - since >= Self.positionAge {
                if !forgetLongestVacant(of: app) { break }
            }
        }
    }

    /// Drops all kept messages, as if they were too old; the streams count on.
    public mutating func removeAllMessages() {
        for index in indices() {
            change(index) {
                $0.removeAll(olderThan: .max)
                $0.lastGrowth = .min
            }
        }
        queues = [:]
    }

    /// Queues the messages of a stream again whose age was changed meanwhile.
    private mutating func keepTrack(of index: Int, after former: QueueKey) {
        let stream = self[index]
        let key = QueueKey(app: stream.address.app, ageMax: stream.rule.ringAgeMax)
        guard key != former, let time = stream.oldestTime else { return }
        queues[key, default: RetentionQueue()].append(index, second: time / 1_000)
    }

    /// The channel that has been vacant longest; entries of others are dropped.
    private mutating func longestVacant(of app: AppID) -> (stream: Int, since: Int64)? {
        while let state = apps[app], state.vacantHead < state.vacant.count {
            let entry = state.vacant[state.vacantHead]
            if let stream = streams[entry.stream], stream.address.app == app,
                stream.vacantSince == entry.since
            {
                return entry
            }
            dropFirstVacant(of: app)
        }
        return nil
    }

    private mutating func dropFirstVacant(of app: AppID) {
        guard let state = apps[app] else { return }
        apps[app]?.vacantHead += 1
        guard state.vacantHead + 1 >= 32, (state.vacantHead + 1) * 2 >= state.vacant.count else {
            return
        }
        apps[app]?.vacant.removeFirst(state.vacantHead + 1)
        apps[app]?.vacantHead = 0
    }

    private mutating func forgetLongestVacant(of app: AppID) -> Bool {
        // A message on its way to the archive needs its stream.
        guard let (index, _) = longestVacant(of: app), self[index].unreleasedCount == 0 else {
            return false
        }
        dropFirstVacant(of: app)
        apps[app]?.vacantCount -= 1
        forget(index)
        return true
    }

    /// Forgets a stream: whoever comes back to its channel is told of a gap.
    mutating func forget(_ index: Int) {
        change(index) { $0.removeAll(olderThan: .max) }
        if self[index].isRowOpen { forgottenRows.append(self[index].row) }
        indices.remove(self[index].address) { streams[$0]?.address }
        streams[index] = nil
        freeIndices.append(index)
    }
}

/// A generator of random numbers from a seed (Steele, Lea and Flood: "Fast splittable pseudorandom number generators").
struct SplitMix64: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
