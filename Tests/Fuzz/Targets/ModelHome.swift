import Broker
import PusherProtocol

/// A shard of the model broker, as the home of channels and users, with the expected state in plain tables.
final class ModelHome {
    /// A sequenced event of a channel.
    struct Event {
        enum Kind { case message, added(UserID), removed(UserID) }

        var kind: Kind
        /// The sequence number, from 1 on each channel.
        var sequence: Int
        var except: SocketID?
    }

    /// The grant of a subscription.
    struct Grant {
        var sequence: Int
        var members: [Member]
    }

    /// An effect of a home, as sent between shards.
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

    /// Expected state: the cached events, in the order of their arrival.
    private var cached: [(channel: ChannelName, data: String, expiry: Int64)] = []

    init(shard: Int, app: App) {
        self.shard = shard
        self.app = app
    }

    private func address(_ channel: ChannelName) -> ChannelAddress {
        ChannelAddress(app: app.id, name: channel)
    }

    /// Subscribes a connection.
    func join(
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
    func leave(
        _ connection: SocketID,
        of caller: Int,
        _ channel: ChannelName,
        at now: Int64
    ) -> [Effect] {
        // The connection may have been the only one, and refused.
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

    private func sequenced(
        _ effects: [ChannelEffect],
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

    /// Sequences an event.
    func next(
        _ kind: Event.Kind,
        on channel: ChannelName,
        except: SocketID? = nil
    ) -> Event {
        sequences[channel, default: 0] += 1
        return Event(kind: kind, sequence: sequences[channel, default: 0], except: except)
    }

    // MARK: - Cache

    /// Caches an event of a cache channel.
    func cache(_ publication: Publication, on channel: ChannelName, at now: Int64) {
        _ = state.record(
            .publication(publication),
            as: nil,
            in: nil,
            on: address(channel),
            of: app,
            at: now,
            now: now
        )
        let former = cached.first { $0.channel == channel }?.expiry ?? 0
        let lifetime = Int64(app.features.cacheLifetime) * 1_000
        cached.removeAll { $0.channel == channel }
        cached.append((channel, publication.data, max(now + lifetime, former + 1)))
        if cached.count > app.limits.cachedEventsMax { cached.removeFirst() }
    }

    /// Removes expired events, which has no effect on clients.
    func expire(at now: Int64) { state.removeExpired(at: now) }

    /// Checks the cache against the expected state, and every table against its limit.
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

    /// Checks that no state is left after all connections have closed and all events have expired.
    func checkEmpty(at now: Int64) throws(Finding) {
        state.removeExpired(at: now)
        try expect(channels.isEmpty, "\(channels.keys) have subscribers without connections")
        try expect(state.isCacheEmpty, "\(state.cachedEventCount) events are still cached")
        try expect(users.count == 0, "\(users.count) users are online without connections")
    }
}
