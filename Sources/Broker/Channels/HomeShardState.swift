public import PusherProtocol

/// The state shared by the channels of one home shard: cached events and idempotency keys, which outlive subscribers and
/// compete for their app's limits, and the schedule of count notices.
///
/// All times are milliseconds of one steady clock.
public struct HomeShardState: Sendable {
    /// Whether cache misses are reported; if not, none is remembered.
    public var reportsCacheMisses = false
    /// The number of members above which a presence channel is large: its notices may be delayed.
    public let smallPresenceChannelMax: Int
    /// The number of shards, which divide each app's limit of cached events among themselves.
    private let shardCount: Int
    private var cache = EventCache()
    private var keys = PublishedKeys()
    var countNotices = CountNotices()

    /// Creates the state of a home shard without channels.
    ///
    /// - Parameters:
    ///   - shardCount: The number of shards.
    ///   - smallPresenceChannelMax: The number of members above which a presence channel is large.
    public init(shardCount: Int = 1, smallPresenceChannelMax: Int = 100) {
        self.shardCount = shardCount
        self.smallPresenceChannelMax = smallPresenceChannelMax
    }

    // MARK: - Cache channels

    /// The number of cached events, expired ones included until ``removeExpired(at:)``.
    public var cachedEventCount: Int { cache.count }

    /// Whether ``removeExpired(at:)`` has nothing to remove, now or later.
    public var isCacheEmpty: Bool { cache.isEmpty && keys.isEmpty }

    /// The cached event of a channel; `nil` if there is none, or none that is still valid.
    public func cachedEvent(of address: ChannelAddress, at now: Int64) -> EventCache.Entry? {
        cache.event(on: address, at: now)
    }

    /// Caches an event of a cache channel (Pusher documentation, "Cache channels"), also if the channel is vacant.
    ///
    /// - Parameters:
    ///   - publication: An event that a backend has triggered.
    ///   - address: The cache channel.
    ///   - app: The channel's app; `nil` if it is no longer served.
    ///   - now: The time.
    /// - Returns: The effects to perform.
    public mutating func cache(
        _ publication: Publication,
        on address: ChannelAddress,
        of app: App?,
        at now: Int64
    ) -> [ChannelHome.Effect] {
        guard let app else { return [] }
        var effects: [ChannelHome.Effect] = []
        let wasEmpty = reportsCacheMisses && cache.event(on: address, at: now) == nil
        let isFull = cache.store(
            publication,
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
        return effects
    }

    /// The first message of a subscription; reports the miss of a cache channel without an event.
    mutating func opening(
        of address: ChannelAddress,
        _ app: App?,
        _ effects: inout [ChannelHome.Effect],
        at now: Int64
    ) -> ChannelHome.Grant.Opening {
        guard address.name.kind.isCache else { return .live }
        if let entry = cache.event(on: address, at: now) { return .cached(entry.publication) }
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
    }

    /// This home shard's share of the app's limit.
    private func cachedEventsMax(of app: App) -> Int {
        (app.limits.cachedEventsMax + shardCount - 1) / shardCount
    }

    // MARK: - Idempotency keys

    /// The number of remembered keys, expired ones included until ``removeExpired(at:)``.
    public var keyCount: Int { keys.count }

    /// Checks the key of an event before it is sequenced, and remembers it if it is new.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - digest: The event's digest.
    ///   - address: The event's channel.
    ///   - app: The channel's app; `nil` if it is no longer served.
    ///   - now: The time.
    /// - Returns: The verdict, and the effects to perform.
    public mutating func check(
        _ key: IdempotencyKey,
        digest: Int,
        on address: ChannelAddress,
        of app: App?,
        at now: Int64
    ) -> (verdict: PublishedKeys.Verdict, effects: [ChannelHome.Effect]) {
        guard let app else { return (.new, []) }
        let (verdict, isFull) = keys.check(
            key,
            digest: digest,
            on: address,
            at: now,
            age: Int64(app.features.idempotencyAge) * 1_000,
            keysMax: (app.limits.idempotencyKeysMax + shardCount - 1) / shardCount
        )
        return (verdict, isFull ? [.limitMet(.idempotencyKeys)] : [])
    }

    // MARK: - Counts

    /// Whether ``takeDueCounts(at:)`` has nothing to return, now or later.
    public var areCountsAnnounced: Bool { countNotices.isEmpty }

    /// The large channels that have to announce their number of subscribers now; each is returned once.
    public mutating func takeDueCounts(at now: Int64) -> [ChannelAddress] {
        countNotices.due(at: now)
    }
}
