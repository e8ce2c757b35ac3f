public import PusherProtocol

/// The streams of one home shard's channels, within the budgets of their apps and of the broker.
///
/// A stream is made when a client first tracks its channel, or by a rule with ``RecoveryRule/Keep/always``. It outlives
/// its subscribers: messages are kept for the window, and the last serial for a day. So a position on a channel without
/// new messages is recovered exactly. All times are milliseconds of one steady clock.
///
/// The table is not copyable. The compiler would copy it for a mere look at a shard's table, and the next change would
/// then copy all of its arrays.
public struct Streams: ~Copyable, Sendable {
    /// How long the last serial of a channel without subscribers is remembered, in milliseconds.
    public static let positionAge: Int64 = 86_400_000

    /// The streams; those of forgotten channels are retired, and replaced later.
    var streams: [ChannelStream] = []
    private var freeIndices: [Int] = []
    private var indices = KeyedIndices<ChannelAddress>()
    /// The apps that have had a stream; streams refer to them by ``SharedRule/app``.
    var apps: [AppState] = []
    private var appIndices: [AppID: Int] = [:]
    /// The streams with kept messages, by age.
    var queues: [RetentionQueue.Key: RetentionQueue] = [:]
    var random: SplitMix64
    /// The number of shards, which divide the budgets among themselves.
    let shardCount: Int
    /// The maximum size of all kept messages of this shard, in bytes.
    let byteCountMax: Int
    /// The maximum size of one replay, in bytes, whatever the app's settings allow.
    private let replayBytesMax: Int

    /// The numbers of streams in the archive; `nil` without an archive, where all rules keep in memory.
    var rows: RowNumbers?
    /// The seeds of the IDs of channels that are always stored; `nil` without an archive.
    var seeds: StreamSeeds?
    /// The archive numbers of forgotten streams that the archive has not removed yet.
    var forgottenRows: [Int64] = []

    /// Whether the streams are copies of those in a store, which itself counts the channels that it forgets.
    var areCopies = false

    /// The limit that made the shard forget a stream for a new one; `nil` after it was taken.
    private var insertionLimit: Limit?

    /// The size of all kept messages, in bytes.
    public private(set) var byteCount = 0
    /// The results of subscriptions, and the counts of messages dropped before they expired.
    public internal(set) var counts = RecoveryCounts()

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

    /// The size of an app's kept messages in bytes, the number of its vacant channels, and that of its opened streams.
    package func usage(of app: AppID) -> (byteCount: Int, vacantCount: Int, openedCount: Int) {
        guard let state = appIndices[app].map({ apps[$0] }) else { return (0, 0, 0) }
        return (state.byteCount, state.vacantCount, state.openedCount)
    }

    /// Whether no channel has a stream.
    public var isEmpty: Bool { indices.isEmpty }

    /// The number of streams.
    public var count: Int { indices.count }

    /// The stream at an index.
    public internal(set) subscript(index: Int) -> ChannelStream {
        // In place: a copy would retain everything that the stream refers to, for each published event.
        _read { yield streams[index] }
        _modify { yield &streams[index] }
    }

    /// The index of a channel's stream; `nil` if it has none.
    public func index(of address: ChannelAddress) -> Int? {
        indices.index(of: address) { streams[$0].address }
    }

    /// Returns the index of a channel's stream, and makes one if it has none.
    public mutating func open(
        _ address: ChannelAddress,
        _ settings: RecoverySettings,
        isVacant: Bool,
        at now: Int64
    ) -> Int {
        let rule = rule(of: address, settings)
        if let index = index(of: address) {
            self[index].sharedRule = rule
            return index
        }
        let derived = rule.rule.isStoredAlways ? seeds?.id(of: address) : nil
        var stream = ChannelStream(derived ?? StreamID(bits: random.next()), of: address, rule)
        if rule.rule.store == .archive { stream.row = rows?.next() ?? 0 }
        return insert(stream, isVacant: isVacant, at: now)
    }

    /// What a channel keeps, which its stream refers to.
    mutating func rule(of address: ChannelAddress, _ settings: RecoverySettings) -> SharedRule {
        let index = appIndices[address.app] ?? apps.count
        if index == apps.count {
            apps.append(AppState(settings, at: index))
            appIndices[address.app] = index
        } else {
            apps[index].settings = settings
        }
        return apps[index].rule(of: address.name)
    }

    /// The index of an app's state; `nil` if it has had no stream.
    func appIndex(of app: AppID) -> Int? { appIndices[app] }

    /// The indices of an app's streams; of all streams if `app` is `nil`.
    func indices(of app: Int? = nil) -> [Int] {
        streams.indices.filter { index in
            !self[index].isRetired && (app == nil || self[index].sharedRule.app == app)
        }
    }

    mutating func insert(_ stream: ChannelStream, isVacant: Bool, at now: Int64) -> Int {
        let index = freeIndices.popLast() ?? streams.count
        if index == streams.count { streams.append(stream) } else { streams[index] = stream }
        indices.insert(index) { streams[$0].address }
        if isVacant, let limit = becameVacant(index, at: now, isNew: true) {
            insertionLimit = limit
        }
        return index
    }

    /// Removes and returns the limit that made the shard forget a stream for a new one of a channel without
    /// subscribers.
    mutating func takeInsertionLimit() -> Limit? { exchange(&insertionLimit, with: nil) }

    /// Replaces what the channels of an app keep, after its configuration has changed.
    mutating func replaceSettings(_ settings: RecoverySettings, of app: AppID) {
        guard let app = appIndex(of: app) else { return }
        for index in indices(of: app) {
            self[index].sharedRule = rule(of: self[index].address, settings)
        }
    }

    /// Drops the kept messages of a channel, which continues in another stream.
    mutating func restart(_ index: Int) {
        endOpened(index)
        abandonID(index)
        let (id, former) = (StreamID(bits: random.next()), self[index])
        change(index) { $0.restart(as: id) }
        guard former.isStored else { return }
        if former.isRowOpen { forgottenRows.append(former.row) }
        self[index].row = rows?.next() ?? 0
        self[index].isVolatile = former.isVolatile
    }

    // MARK: - Messages

    /// The serial of the next message of the stream at an index.
    public func nextSerial(_ index: Int) -> UInt64 { streams[index].nextSerial }

    /// Numbers a message, keeps it, and drops the oldest messages above a limit; `envelope` has ``nextSerial(_:)``.
    ///
    /// Returns the limit that dropped messages before they expired.
    public mutating func append(
        _ envelope: Envelope,
        except: SocketID?,
        to index: Int,
        at now: Int64
    ) -> Limit? {
        endOpened(index)
        let second = now / 1_000
        let (isFirst, dropped) = change(index) { stream in
            let dropped = stream.append(envelope, except: except, at: now)
            return (stream.isFirst(of: Int32(truncatingIfNeeded: second)), dropped)
        }
        if dropped.byCount > 0 { counts.count(.channelMessages, dropped.byCount) }
        if dropped.byBytes > 0 { counts.count(.channelBytes, dropped.byBytes) }
        let rule = self[index].sharedRule
        if isFirst {
            queues[RetentionQueue.Key(rule), default: RetentionQueue()].append(
                index,
                second: second
            )
        }
        return shrink(rule.app)
    }

    /// Decides where a subscription begins, and what is replayed to it.
    ///
    /// The request is `nil` for a client that does not track the channel; `archived` are messages of the archive that
    /// precede those in memory.
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

    /// Changes a stream, and updates the sizes.
    mutating func change<R>(_ index: Int, _ body: (inout ChannelStream) -> R) -> R {
        let before = self[index].retainedByteCount
        let result = body(&self[index])
        let growth = self[index].retainedByteCount - before
        byteCount += growth
        apps[self[index].sharedRule.app].byteCount += growth
        return result
    }

    /// Forgets a stream; a client that returns to its channel is notified of a gap.
    mutating func forget(_ index: Int) {
        change(index) { $0.removeAll(olderThan: .max) }
        if !self[index].isBlank || !self[index].rule.isStoredAlways { abandonID(index) }
        if self[index].isRowOpen { forgottenRows.append(self[index].row) }
        indices.remove(self[index].address) { streams[$0].address }
        self[index].retire()
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
