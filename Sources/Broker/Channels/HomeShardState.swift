public import PusherProtocol

/// The state shared by the channels of one home shard: streams, cached events, idempotency keys and count notices.
///
/// Streams, cached events and keys outlive subscribers and compete for their app's limits. All times are milliseconds
/// of one steady clock.
public struct HomeShardState: ~Copyable, Sendable {
    /// Whether cache misses are reported; if not, they are not recorded.
    public var reportsCacheMisses = false
    /// Whether the streams are copies of those in a store, which itself counts the channels that it forgets.
    public var areStreamsCopies: Bool {
        get { streams.areCopies }
        set { streams.areCopies = newValue }
    }
    /// The number of members above which a presence channel is large: its notices may be delayed.
    public let smallPresenceChannelMax: Int
    /// The number of shards, which divide each app's limit of cached events among themselves.
    private let shardCount: Int
    private var cache = EventCache()
    private var keys = PublishedKeys()
    /// The streams of the channels that clients track.
    public internal(set) var streams: Streams
    var countNotices = CountNotices()
    var departing = DepartingMembers()

    /// Creates the state of a home shard without channels.
    ///
    /// - Parameters:
    ///   - shardCount: The number of shards.
    ///   - smallPresenceChannelMax: The number of members above which a presence channel is large.
    ///   - seed: Random bits, for the IDs of streams.
    ///   - retainedBytesMax: The maximum size of all messages that the broker keeps, in bytes.
    ///   - replayBytesMax: The maximum size of one replay, in bytes.
    public init(
        shardCount: Int = 1,
        smallPresenceChannelMax: Int = 100,
        seed: UInt64 = 0,
        retainedBytesMax: Int = .max,
        replayBytesMax: Int = .max
    ) {
        streams = Streams(
            seed: seed,
            shardCount: shardCount,
            retainedBytesMax: retainedBytesMax,
            replayBytesMax: replayBytesMax
        )
        self.shardCount = shardCount
        self.smallPresenceChannelMax = smallPresenceChannelMax
    }

    // MARK: - Cache channels

    /// The number of cached events, including expired ones until ``removeExpired(at:)``.
    public var cachedEventCount: Int { cache.count }

    /// The number of an app's cached events.
    package func cachedEventCount(of app: AppID) -> Int { cache.count(of: app) }

    /// Whether ``removeExpired(at:)`` has nothing to remove, now or later.
    public var isCacheEmpty: Bool { cache.isEmpty && keys.isEmpty && streams.isEmpty }

    /// The cached event of a channel; `nil` if there is none, or it has expired.
    public func cachedEvent(of address: ChannelAddress, at now: Int64) -> EventCache.Entry? {
        cache.event(on: address, at: now)
    }

    /// Caches an event of a cache channel (Pusher documentation, "Cache channels"), also if the channel is vacant.
    private mutating func cache(
        _ publication: Publication,
        numbered position: ChannelPosition?,
        on address: ChannelAddress,
        of app: App,
        _ effects: inout [ChannelEffect],
        at now: Int64
    ) {
        let wasEmpty = reportsCacheMisses && cache.event(on: address, at: now) == nil
        let isFull = cache.store(
            publication,
            numbered: position,
            on: address,
            at: now,
            lifetime: Int64(app.features.cacheLifetime) * 1_000,
            eventsMax: cachedEventsMax(of: app)
        )
        if isFull { effects.append(.limitMet(.cachedEvents)) }
        // With a limit of 0 the cache stays empty.
        if wasEmpty, cache.event(on: address, at: now) != nil {
            effects.append(.notify(.cacheFilled))
        }
    }

    /// The first message of a subscription; reports the miss of a cache channel without an event.
    mutating func opening(
        of address: ChannelAddress,
        ahead replay: Replay?,
        _ app: App?,
        _ effects: inout [ChannelEffect],
        at now: Int64
    ) -> ChannelEffect.Grant.Opening {
        guard address.name.kind.isCache else { return .live }
        if let entry = cache.event(on: address, at: now) {
            return replay?.contains(entry.position) == true ? .live : .cached(entry.publication)
        }
        if reportsCacheMisses, let app,
            cache.recordMiss(on: address, at: now, missesMax: cachedEventsMax(of: app))
        {
            effects.append(.notify(.cacheMiss))
        }
        return .cacheMiss
    }

    /// Removes expired events and misses.
    public mutating func removeExpired(at now: Int64) {
        cache.expire(at: now)
        keys.expire(at: now)
        streams.removeExpired(at: now)
    }

    // MARK: - Streams

    /// Returns the index of the stream of a message on a channel without subscribers; `nil` if it belongs to none.
    ///
    /// `app` is the channel's app if some of its channels always keep messages.
    mutating func stream(ofVacant address: ChannelAddress, _ app: App?, at now: Int64) -> Int? {
        guard app != nil || !streams.isEmpty else { return nil }
        if let index = streams.index(of: address) { return index }
        return openKept(address, app, isVacant: true, at: now)
    }

    /// Makes the stream of a channel whose rule always keeps messages.
    mutating func openKept(
        _ address: ChannelAddress,
        _ app: App?,
        isVacant: Bool,
        at now: Int64
    ) -> Int? {
        guard let settings = app?.recovery, settings.keepsAlways,
            settings.rule(of: address.name).keep == .always
        else { return nil }
        return streams.open(address, settings, isVacant: isVacant, at: now)
    }

    /// Returns the index of a channel's stream, and makes one if it has none; `nil` if the app has no recovery.
    public mutating func openStream(
        _ address: ChannelAddress,
        _ app: App?,
        isVacant: Bool,
        at now: Int64
    ) -> Int? {
        guard let settings = app?.recovery, settings.isEnabled else { return nil }
        return streams.open(address, settings, isVacant: isVacant, at: now)
    }

    /// Replaces what the channels of the apps keep, after a reload.
    public mutating func replaceSettings(of apps: some Sequence<App>) {
        guard !streams.isEmpty else { return }
        for app in apps { streams.replaceSettings(app.recovery, of: app.id) }
    }

    /// Drops everything that is kept of a channel, including its cached event, and begins another stream.
    public mutating func purge(_ stream: Int, of address: ChannelAddress) {
        streams.restart(stream)
        cache.remove(address)
    }

    /// Numbers a message of a stream, keeps it, and returns the limit that dropped messages before they expired, if
    /// any.
    ///
    /// `envelope` has the stream's next serial, and `except` the connection that does not get it.
    public mutating func keep(
        _ envelope: Envelope,
        except: SocketID?,
        in stream: Int,
        at now: Int64
    ) -> Limit? {
        streams.append(envelope, except: except, to: stream, at: now)
    }

    /// Drops the kept messages of all streams, whose serials continue.
    public mutating func dropMessages() { streams.removeAllMessages() }

    mutating func channelBecameOccupied(_ stream: Int) { streams.becameOccupied(stream) }

    /// Whether a client may begin a channel's stream; see ``Streams/mayOpen(_:_:from:)``.
    public func mayOpen(_ address: ChannelAddress, of app: App, from addressDigest: UInt32) -> Bool
    {
        streams.mayOpen(address, app.recovery, from: addressDigest)
    }

    /// This home shard's share of the app's limit.
    private func cachedEventsMax(of app: App) -> Int {
        (app.limits.cachedEventsMax + shardCount - 1) / shardCount
    }

    // MARK: - Archive

    /// Begins to keep channels in the archive.
    public mutating func useArchive(_ rows: RowNumbers, _ seeds: StreamSeeds) {
        streams.useArchive(rows, seeds)
    }

    /// Continues a stream of the archive, and returns its ID; `nil` if the channel is no longer archived.
    ///
    /// `isCurrent` is whether no message can be missing.
    public mutating func restore(
        _ stored: StoredStream,
        isCurrent: Bool,
        _ settings: RecoverySettings?,
        at now: Int64
    ) -> StreamID? {
        streams.restore(stored, isCurrent: isCurrent, settings, at: now).map { streams[$0].id }
    }

    /// The streams with their messages, and the keys, that are only in memory; `offset` gives the time since 1970.
    public func spooled(calendarOffset offset: Int64) -> SpooledState {
        SpooledState(
            streams: streams.spooled(calendarOffset: offset),
            keys: keys.spooled(calendarOffset: offset).filter { !isStored($0.address) }
        )
    }

    private func isStored(_ address: ChannelAddress) -> Bool {
        streams.index(of: address).map { streams[$0].isStored } ?? false
    }

    /// Continues the streams and keys of this home shard that an earlier run had in memory.
    ///
    /// `settings` returns `nil` for an app that is not served; `offset` are the milliseconds to add for the time since
    /// 1970.
    public mutating func restore(
        _ spooled: SpooledState,
        _ settings: (AppID) -> RecoverySettings?,
        at now: Int64,
        calendarOffset offset: Int64
    ) {
        streams.restore(spooled.streams, settings, at: now, calendarOffset: offset)
        for key in spooled.keys {
            let expiry = key.key.expiry - offset
            restore(key.key, on: key.address, at: key.position, expiry: expiry)
        }
    }

    /// Applies the rules of an app's new settings to its streams.
    public mutating func apply(_ settings: RecoverySettings?, to app: AppID) {
        streams.apply(settings, to: app)
    }

    /// Assigns a serial to a message of a stored stream, and returns the stream's record if the archive needs it first.
    public mutating func mint(_ stream: Int) -> StoredStream? { streams.mint(stream) }

    /// The stream's record, if the archive does not have it yet; returned once.
    ///
    /// If it is lazy, a stream that any client may open is recorded only with its first message.
    public mutating func openRow(_ stream: Int, isLazy: Bool = false) -> StoredStream? {
        isLazy && streams.needsNoRow(stream) ? nil : streams.openRow(stream)
    }

    /// Takes back the serials of messages that could not be written.
    public mutating func takeBack(_ stream: Int) { streams.takeBack(stream) }

    /// Records whether a stored stream is temporarily only in memory.
    public mutating func setVolatile(_ stream: Int, _ isVolatile: Bool) {
        streams.setVolatile(stream, isVolatile)
    }

    /// Continues all stored streams under other IDs.
    public mutating func renewAll() { streams.renewAll() }

    /// Removes and returns the archive numbers of forgotten streams.
    public mutating func takeForgottenRows() -> [Int64] { streams.takeForgottenRows() }

    /// Removes and returns the limit that made the shard forget a stream for a new one of a channel without
    /// subscribers.
    public mutating func takeInsertionLimit() -> Limit? { streams.takeInsertionLimit() }

    /// Restores a key of an earlier run, with the position of its event if it has one.
    public mutating func restore(
        _ stored: StoredKey,
        on address: ChannelAddress,
        at position: ChannelPosition?,
        expiry: Int64
    ) {
        keys.restore(stored.key, digest: stored.digest, on: address, position, expiry: expiry)
    }

    // MARK: - Idempotency keys

    /// The number of remembered keys, including expired ones until ``removeExpired(at:)``.
    public var keyCount: Int { keys.count }

    /// The number of an app's idempotency keys.
    package func keyCount(of app: AppID) -> Int { keys.count(of: app) }

    /// Checks the key of an event before the event is sequenced.
    mutating func check(
        _ key: IdempotencyKey,
        digest: UInt64,
        on address: ChannelAddress,
        at now: Int64
    ) -> PublishedKeys.Verdict {
        keys.check(key, digest: digest, on: address, at: now)
    }

    // MARK: - Events

    /// Records an event that is published: numbers and keeps its message, caches the event, and remembers its key.
    ///
    /// - Parameters:
    ///   - event: The event, on which ``ChannelHome/decide(on:at:of:sharing:now:)`` has decided.
    ///   - envelope: The message with the stream's next serial; `nil` without a stream.
    ///   - stream: The index of its stream; `nil` if it is not numbered.
    ///   - address: The channel, vacant or not.
    ///   - app: The app; `nil` if it is no longer served, or if the event has no key and is not cached.
    ///   - time: When the message got its serial.
    ///   - now: The present time.
    /// - Returns: The effects to perform.
    public mutating func record(
        _ event: ProposedEvent,
        as envelope: Envelope?,
        in stream: Int?,
        on address: ChannelAddress,
        of app: App?,
        at time: Int64,
        now: Int64
    ) -> [ChannelEffect] {
        var effects: [ChannelEffect] = []
        if let stream, let envelope,
            let limit = keep(envelope, except: event.except, in: stream, at: time)
        {
            effects.append(.limitMet(limit))
        }
        guard let app else { return effects }
        let position = stream.map { streams[$0].position }
        if address.name.kind.isCache, let publication = event.cached {
            cache(publication, numbered: position, on: address, of: app, &effects, at: now)
        }
        if let key = event.key {
            let isFull = keys.remember(
                key,
                digest: event.digest,
                on: address,
                position: position,
                at: now,
                age: Int64(app.features.idempotencyAge) * 1_000,
                keysMax: (app.limits.idempotencyKeysMax + shardCount - 1) / shardCount
            )
            if isFull { effects.append(.limitMet(.idempotencyKeys)) }
        }
        return effects
    }

    // MARK: - Departing members

    /// When ``takeDeparted(atMost:at:)`` may have something to return next; `nil` while no member is departing.
    public var nextDeparture: Int64? { departing.nextDue }

    /// The members that have not returned in time, the first ones first; each is returned once.
    public mutating func takeDeparted(
        atMost countMax: Int,
        at now: Int64
    ) -> [DepartingMembers.Departure] {
        departing.takeDue(atMost: countMax, at: now)
    }

    // MARK: - Counts

    /// Whether ``takeDueCounts(at:)`` has nothing to return, now or later.
    public var areCountsAnnounced: Bool { countNotices.isEmpty }

    /// The large channels that have to announce their number of subscribers now; each is returned once.
    public mutating func takeDueCounts(at now: Int64) -> [ChannelAddress] {
        countNotices.due(at: now)
    }
}
