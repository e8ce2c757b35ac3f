public import PusherProtocol

/// The last event of each cache channel whose home is one shard (Pusher documentation, "Cache channels").
///
/// An event outlives the channel's subscribers, but not its lifetime, and not more recent events than the app may have
/// cached. All times are milliseconds of one steady clock.
public struct EventCache: Sendable {
    /// An event that is kept for later subscribers.
    public struct Entry: Sendable {
        /// The event as it was triggered.
        public let publication: Publication
        /// When it is forgotten.
        public let expiry: Int64
    }

    /// An app's events.
    private struct Store {
        var entries: [ChannelName: Entry] = [:]
        /// The channels in the order of their events, a channel once for each; all but its last are out of date.
        ///
        /// One app's events live equally long, so that the first in the line is also the first to expire.
        var line: [(channel: ChannelName, expiry: Int64)] = []
        var lineStart = 0
        /// When a miss was last noted.
        var misses: [ChannelName: Int64] = [:]

        /// Drops the event that is the next to expire.
        mutating func dropFirst() {
            let (channel, expiry) = line[lineStart]
            lineStart += 1
            if entries[channel]?.expiry == expiry { entries[channel] = nil }
        }

        /// Leaves out what is out of date, when it is most of the line.
        mutating func shortenLine() {
            guard line.count > 2 * entries.count + 64 else { return }
            line = line[lineStart...].filter { entries[$0.channel]?.expiry == $0.expiry }
            lineStart = 0
        }
    }

    /// For so long a channel's misses after the first are not reported, unless an event came between.
    public static let missInterval: Int64 = 60_000

    private var stores: [AppID: Store] = [:]

    /// Makes an empty cache.
    public init() {}

    /// The number of events held, expired ones included until ``expire(at:)``.
    public var count: Int { stores.values.reduce(0) { $0 + $1.entries.count } }

    /// Whether nothing is remembered: ``expire(at:)`` would have nothing to do.
    public var isEmpty: Bool { stores.isEmpty }

    /// Keeps an event in place of the channel's last.
    ///
    /// - Parameters:
    ///   - publication: The event.
    ///   - address: The channel.
    ///   - now: The time.
    ///   - lifetime: For how long, in milliseconds.
    ///   - eventsMax: How many events the app may have here; the oldest make room.
    /// - Returns: Whether another event had to make room.
    @discardableResult
    public mutating func store(
        _ publication: Publication,
        on address: ChannelAddress,
        at now: Int64,
        lifetime: Int64,
        eventsMax: Int
    ) -> Bool {
        guard eventsMax > 0, lifetime > 0 else { return false }
        // Two events of one millisecond must differ in the line.
        var expiry = now + lifetime
        if let former = stores[address.app]?.entries[address.name], former.expiry >= expiry {
            expiry = former.expiry + 1
        }
        var store = stores.removeValue(forKey: address.app) ?? Store()
        store.misses[address.name] = nil
        store.entries[address.name] = Entry(publication: publication, expiry: expiry)
        store.line.append((address.name, expiry))
        let isFull = store.entries.count > eventsMax
        while store.entries.count > eventsMax { store.dropFirst() }
        store.shortenLine()
        stores[address.app] = store
        return isFull
    }

    /// The event that a new subscriber of the channel begins with; `nil` is a miss.
    public func event(on address: ChannelAddress, at now: Int64) -> Entry? {
        guard let entry = stores[address.app]?.entries[address.name], entry.expiry > now else {
            return nil
        }
        return entry
    }

    /// Notes a miss.
    ///
    /// - Parameters:
    ///   - address: The cache channel, which has no event.
    ///   - now: The time.
    ///   - missesMax: How many channels are remembered; a miss of one more is reported each time.
    /// - Returns: Whether it is to be reported: it is the first since the channel had an event, or for a minute.
    public mutating func noteMiss(
        on address: ChannelAddress,
        at now: Int64,
        missesMax: Int
    ) -> Bool {
        let misses = stores[address.app]?.misses ?? [:]
        if let last = misses[address.name], now - last < EventCache.missInterval { return false }
        if misses.count < missesMax {
            stores[address.app, default: Store()].misses[address.name] = now
        }
        return true
    }

    /// Forgets what has expired.
    public mutating func expire(at now: Int64) {
        for app in stores.keys {
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
