public import PusherProtocol

/// The last event of each cache channel of one home shard (Pusher documentation, "Cache channels").
///
/// An event stays when the channel becomes vacant. It expires after its lifetime, or newer events of the app evict it.
/// All times are milliseconds of one steady clock.
public struct EventCache: Sendable {
    /// A cached event.
    public struct Entry: Sendable {
        /// The event as it was triggered.
        public let publication: Publication
        /// The event's position in the channel's stream, if it has one.
        public let position: ChannelPosition?
        /// The time of its expiry.
        public let expiry: Int64
    }

    /// The events of one app.
    private struct Store {
        var entries: [ChannelName: Entry] = [:]
        /// The channels in the order of their events, one entry for each event.
        ///
        /// Only a channel's last entry is valid.
        ///
        /// All events of an app have the same lifetime, so the first entry is the first to expire.
        var line: [(channel: ChannelName, expiry: Int64)] = []
        var lineStart = 0
        /// The time at which a miss was last reported.
        var misses: [ChannelName: Int64] = [:]

        /// Removes the event that expires next.
        mutating func dropFirst() {
            let (channel, expiry) = line[lineStart]
            lineStart += 1
            if entries[channel]?.expiry == expiry { entries[channel] = nil }
        }

        /// Removes the processed entries when they are the greater part.
        mutating func shortenLine() {
            guard line.count > 2 * entries.count + 64 else { return }
            line = line[lineStart...].filter { entries[$0.channel]?.expiry == $0.expiry }
            lineStart = 0
        }
    }

    /// The time for which further misses of a channel are not reported, unless an event is cached in between.
    public static let missInterval: Int64 = 60_000

    private var stores: [AppID: Store] = [:]

    /// Creates an empty cache.
    public init() {}

    /// The number of cached events, including expired ones until ``expire(at:)``.
    public var count: Int { stores.values.reduce(0) { $0 + $1.entries.count } }

    /// The number of an app's cached events, including expired ones until ``expire(at:)``.
    func count(of app: AppID) -> Int { stores[app]?.entries.count ?? 0 }

    /// Whether ``expire(at:)`` has nothing to remove.
    public var isEmpty: Bool { stores.isEmpty }

    /// Caches an event in place of the channel's last, and returns whether another event was evicted.
    ///
    /// `position` is the event's position, if it is numbered, and `lifetime` is in milliseconds. Above `eventsMax`
    /// events of the app, the oldest are evicted.
    @discardableResult
    public mutating func store(
        _ publication: Publication,
        numbered position: ChannelPosition? = nil,
        on address: ChannelAddress,
        at now: Int64,
        lifetime: Int64,
        eventsMax: Int
    ) -> Bool {
        guard eventsMax > 0, lifetime > 0 else { return false }
        // Expiries identify entries, so two events of one millisecond must differ.
        var expiry = now + lifetime
        if let former = stores[address.app]?.entries[address.name], former.expiry >= expiry {
            expiry = former.expiry + 1
        }
        var store = stores.removeValue(forKey: address.app) ?? Store()
        store.misses[address.name] = nil
        store.entries[address.name] = Entry(
            publication: publication,
            position: position,
            expiry: expiry
        )
        store.line.append((address.name, expiry))
        let isFull = store.entries.count > eventsMax
        while store.entries.count > eventsMax { store.dropFirst() }
        store.shortenLine()
        stores[address.app] = store
        return isFull
    }

    /// Removes the cached event of a channel.
    mutating func remove(_ address: ChannelAddress) {
        stores[address.app]?.entries[address.name] = nil
    }

    /// The cached event of a channel; `nil` is a miss.
    public func event(on address: ChannelAddress, at now: Int64) -> Entry? {
        guard let entry = stores[address.app]?.entries[address.name], entry.expiry > now else {
            return nil
        }
        return entry
    }

    /// Records a miss of a cache channel without an event, and returns whether to report it.
    ///
    /// It is reported if it is the first since the last event, or in a minute. At most `missesMax` channels are
    /// remembered; the misses of others are reported each time.
    public mutating func recordMiss(
        on address: ChannelAddress,
        at now: Int64,
        missesMax: Int
    ) -> Bool {
        if let last = stores[address.app]?.misses[address.name],
            now - last < EventCache.missInterval
        {
            return false
        }
        if stores[address.app]?.misses.count ?? 0 < missesMax {
            stores[address.app, default: Store()].misses[address.name] = now
        }
        return true
    }

    /// Removes expired events and misses.
    public mutating func expire(at now: Int64) {
        for app in Array(stores.keys) {
            guard var store = stores.removeValue(forKey: app) else { continue }
            while store.lineStart < store.line.count, store.line[store.lineStart].expiry <= now {
                store.dropFirst()
            }
            store.shortenLine()
            store.misses = store.misses.filter { now - $0.value < EventCache.missInterval }
            if !store.entries.isEmpty || !store.misses.isEmpty { stores[app] = store }
        }
    }
}
