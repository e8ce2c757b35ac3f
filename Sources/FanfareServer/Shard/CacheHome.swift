import Broker
import Net
import PusherProtocol

/// The last events of the cache channels whose home is one shard, and the timer that sweeps out what has expired.
///
/// The timer runs only while something is kept: most shards have no cache channel.
final class CachedEvents: TimerTarget {
    private var cache = EventCache()
    private let reactor: Reactor
    private let sweepInterval: Duration
    private var isSwept = false

    /// Makes an empty cache on the loop of `reactor`.
    ///
    /// - Parameters:
    ///   - reactor: Whose clock and timers it uses.
    ///   - sweepInterval: The time between two sweeps; what has expired is given to nobody, swept out or not.
    init(reactor: Reactor, sweepInterval: Duration = .seconds(15)) {
        self.reactor = reactor
        self.sweepInterval = sweepInterval
    }

    /// Whether nothing is kept, and no timer runs for it.
    var isAtRest: Bool { cache.isEmpty && !isSwept }

    /// The channel's event; `nil` when there is none, or none that is still good.
    func event(on address: ChannelAddress) -> EventCache.Entry? {
        cache.event(on: address, at: reactor.milliseconds)
    }

    /// Keeps an event in place of the channel's last; returns whether another had to make room.
    @discardableResult
    func store(
        _ publication: Publication,
        on address: ChannelAddress,
        lifetime: Int64,
        eventsMax: Int
    ) -> Bool {
        defer { sweepLater() }
        return cache.store(
            publication,
            on: address,
            at: reactor.milliseconds,
            lifetime: lifetime,
            eventsMax: eventsMax
        )
    }

    /// Notes a miss; returns whether it is to be reported (`EventCache.noteMiss`).
    func noteMiss(on address: ChannelAddress, missesMax: Int) -> Bool {
        defer { sweepLater() }
        return cache.noteMiss(on: address, at: reactor.milliseconds, missesMax: missesMax)
    }

    /// What a backend is told of the channel's event.
    func attribute(of address: ChannelAddress) -> ChannelAttributes.Cache {
        guard let entry = event(on: address) else { return .empty }
        let left = entry.expiry - reactor.milliseconds
        return .event(
            dataToken: entry.publication.dataToken,
            secondsLeft: Int((left + 999) / 1_000)
        )
    }

    private func sweepLater() {
        guard !isSwept, !cache.isEmpty else { return }
        isSwept = true
        reactor.schedule(after: sweepInterval, self)
    }

    func timerFired(tag: Int) {
        isSwept = false
        cache.expire(at: reactor.milliseconds)
        sweepLater()
    }
}

/// What a home does for its cache channels (Pusher documentation, "Cache channels").
extension ShardCore {
    /// Keeps an event that a backend has triggered for later subscribers, also where nobody is subscribed.
    func keep(_ publication: Publication, on address: ChannelAddress) {
        guard let app = registry.apps[address.app] else { return }
        let wasEmpty = observer != nil && cachedEvents.event(on: address) == nil
        let isFull = cachedEvents.store(
            publication,
            on: address,
            lifetime: Int64(app.features.cacheLifetime) * 1_000,
            eventsMax: cachedEventsMax(of: app)
        )
        if isFull { met(.cachedEvents) }
        // Where the app may have nothing cached, it is still empty.
        if wasEmpty, cachedEvents.event(on: address) != nil { tell(.cacheFilled, on: address) }
    }

    /// What a subscriber of a cache channel begins with; `nil` is a miss, which the observer is told of.
    func opening(of address: ChannelAddress) -> EventFrame? {
        if let entry = cachedEvents.event(on: address) {
            return EventFrame(entry.publication, channel: address.name)
        }
        if observer != nil, let app = registry.apps[address.app],
            cachedEvents.noteMiss(on: address, missesMax: cachedEventsMax(of: app))
        {
            tell(.cacheMiss, on: address)
        }
        return nil
    }

    /// This home's share of the events that an app may have cached, so that all homes together keep to the limit.
    private func cachedEventsMax(of app: App) -> Int {
        (app.limits.cachedEventsMax + shardCount - 1) / shardCount
    }
}

extension Reactor {
    /// The loop's clock in milliseconds, as the cache and the notices of counts take it.
    var milliseconds: Int64 { now.nanoseconds / 1_000_000 }
}
