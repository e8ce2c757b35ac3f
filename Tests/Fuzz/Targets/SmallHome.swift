import Broker
import PusherProtocol

/// A shard of the small broker, as the home of channels and users; beside it, in plain tables, what must be true.
struct SmallHome {
    /// What happens on a channel, in its order.
    struct Event {
        enum Kind { case message, added(UserID), removed(UserID) }

        var kind: Kind
        /// Counted from 1 on each channel.
        var sequence: Int
        var except: SocketID?
    }

    /// What a new subscriber begins with.
    struct Grant {
        var sequence: Int
        var members: [Member]
    }

    /// An effect of a home, as the small broker's shards exchange it.
    enum Effect {
        case granted(Grant)
        case refused
        case event(Event)
    }

    private(set) var channels: [ChannelName: ChannelHome] = [:]
    private(set) var sequences: [ChannelName: Int] = [:]
    var users = UserHome()
    private var state = HomeShardState()
    private let shard: Int
    private let app: App

    /// The naive twin of the cache: events in the order of their arrival.
    private var cached: [(channel: ChannelName, data: String, expiry: Int64)] = []

    init(shard: Int, app: App) {
        self.shard = shard
        self.app = app
    }

    private func address(_ channel: ChannelName) -> ChannelAddress {
        ChannelAddress(app: app.id, name: channel)
    }

    /// Subscribes a connection.
    mutating func join(
        _ connection: SocketID,
        of caller: Int,
        _ channel: ChannelName,
        as member: Member?,
        at now: Int64
    ) -> [Effect] {
        var home = channels[channel] ?? ChannelHome(on: shard)
        let effects = home.subscribe(
            Subscriber(connection, shard: caller, member: member),
            to: address(channel),
            of: app,
            sharing: &state,
            at: now
        )
        channels[channel] = home.isVacant ? nil : home
        return sequenced(effects, on: channel)
    }

    /// Unsubscribes a connection.
    mutating func leave(
        _ connection: SocketID,
        of caller: Int,
        _ channel: ChannelName,
        at now: Int64
    ) -> [Effect] {
        // A connection that was refused may have been the only one.
        guard var home = channels[channel] else { return [] }
        let effects = home.unsubscribe(
            connection,
            from: caller,
            at: address(channel),
            of: app,
            sharing: &state,
            now: now
        )
        channels[channel] = home.isVacant ? nil : home
        return sequenced(effects, on: channel)
    }

    private mutating func sequenced(
        _ effects: [ChannelHome.Effect],
        on channel: ChannelName
    ) -> [Effect] {
        effects.compactMap { effect in
            switch effect {
            case .grant(let grant):
                let sequence = sequences[channel] ?? 0
                return .granted(Grant(sequence: sequence, members: grant.members))
            case .refuse: return .refused
            case .fanOut(.memberAdded(_, let user, _), _):
                return .event(next(.added(UserID(user)), on: channel))
            case .fanOut(.memberRemoved(_, let user), _):
                return .event(next(.removed(UserID(user)), on: channel))
            case .fanOut: return .event(next(.message, on: channel))
            case .notify, .limitMet: return nil
            }
        }
    }

    /// Gives an event its place in the order.
    mutating func next(
        _ kind: Event.Kind,
        on channel: ChannelName,
        except: SocketID? = nil
    ) -> Event {
        sequences[channel, default: 0] += 1
        return Event(kind: kind, sequence: sequences[channel, default: 0], except: except)
    }

    // MARK: - The cache

    /// Caches a cache channel's event.
    mutating func keep(_ publication: Publication, on channel: ChannelName, at now: Int64) {
        _ = state.cache(publication, on: address(channel), of: app, at: now)
        let former = cached.first { $0.channel == channel }?.expiry ?? 0
        let lifetime = Int64(app.features.cacheLifetime) * 1_000
        cached.removeAll { $0.channel == channel }
        cached.append((channel, publication.data, max(now + lifetime, former + 1)))
        if cached.count > app.limits.cachedEventsMax { cached.removeFirst() }
    }

    /// Removes expired events, which changes nothing for clients.
    mutating func expire(at now: Int64) { state.removeExpired(at: now) }

    /// Checks the cache against its twin, and every table against its limit.
    func check(at now: Int64) throws(Finding) {
        for (channel, data, expiry) in cached {
            let entry = state.cachedEvent(of: address(channel), at: now)
            let expected = expiry > now ? data : nil
            try expect(entry?.publication.data == expected, "the last event of \(channel)")
        }
        let count = state.cachedEventCount
        try expect(count <= app.limits.cachedEventsMax, "\(count) events are cached")
        for (channel, home) in channels {
            let count = home.presence.members.count
            try expect(count <= app.limits.membersMax, "\(count) members on \(channel)")
            try expect(!home.isVacant && home.subscribers.total > 0, "\(channel) is vacant")
        }
    }

    /// Checks that nothing is left when all have gone, and all has expired.
    mutating func checkEmpty(at now: Int64) throws(Finding) {
        state.removeExpired(at: now)
        try expect(channels.isEmpty, "\(channels.keys) have subscribers without connections")
        try expect(state.isCacheEmpty, "\(state.cachedEventCount) events are cached for ever")
        try expect(users.count == 0, "\(users.count) users are online without connections")
    }
}
