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

    private(set) var attendances: [ChannelName: SubscriberCounts] = [:]
    private(set) var sequences: [ChannelName: Int] = [:]
    var users = UserHome()
    private var cache = EventCache()
    private let shard: Int
    private let app: App

    /// The naive twin of the cache: events in the order of their arrival.
    private var cached: [(channel: ChannelName, data: String, expiry: Int64)] = []

    init(shard: Int, app: App) {
        self.shard = shard
        self.app = app
    }

    /// Admits a connection; `grant` is nil when the channel has no room for another member.
    mutating func join(
        _ connection: SocketID,
        of caller: Int,
        _ channel: ChannelName,
        as member: Member?
    ) -> (grant: Grant?, event: Event?) {
        var attendance = attendances[channel] ?? SubscriberCounts(home: shard)
        defer { attendances[channel] = attendance.isVacant ? nil : attendance }
        var event: Event?
        if let member {
            let arrival = attendance.join(
                connection,
                from: caller,
                as: member,
                membersMax: app.limits.membersMax
            )
            if arrival == .refused { return (nil, nil) }
            if arrival == .ofMember { event = next(.added(member.id), on: channel) }
        } else {
            attendance.join(from: caller)
        }
        let grant = Grant(sequence: sequences[channel] ?? 0, members: attendance.members)
        return (grant, event)
    }

    /// Dismisses a connection, and says what the others are to be told.
    mutating func leave(
        _ connection: SocketID,
        of caller: Int,
        _ channel: ChannelName
    ) -> Event? {
        // One that was refused may have been all that asked.
        guard var attendance = attendances[channel] else { return nil }
        defer { attendances[channel] = attendance.isVacant ? nil : attendance }
        guard channel.kind.isPresence else {
            attendance.leave(from: caller)
            return nil
        }
        let departure = attendance.leave(connection, from: caller)
        guard case .ofMember(let user) = departure else { return nil }
        return next(.removed(user), on: channel)
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

    /// Keeps a cache channel's event.
    mutating func keep(_ publication: Publication, on channel: ChannelName, at now: Int64) {
        let lifetime = Int64(app.features.cacheLifetime) * 1_000
        cache.store(
            publication,
            on: ChannelAddress(app: app.id, name: channel),
            at: now,
            lifetime: lifetime,
            eventsMax: app.limits.cachedEventsMax
        )
        let former = cached.first { $0.channel == channel }?.expiry ?? 0
        cached.removeAll { $0.channel == channel }
        cached.append((channel, publication.data, max(now + lifetime, former + 1)))
        if cached.count > app.limits.cachedEventsMax { cached.removeFirst() }
    }

    /// Lets the cache forget, which changes nothing for anybody.
    mutating func expire(at now: Int64) { cache.expire(at: now) }

    /// Checks the cache against its twin, and every table against its limit.
    func check(at now: Int64) throws(Finding) {
        for (channel, data, expiry) in cached {
            let entry = cache.event(on: ChannelAddress(app: app.id, name: channel), at: now)
            let expected = expiry > now ? data : nil
            try expect(entry?.publication.data == expected, "the last event of \(channel)")
        }
        try expect(cache.count <= app.limits.cachedEventsMax, "\(cache.count) events are cached")
        for (channel, attendance) in attendances {
            let count = attendance.members.count
            try expect(count <= app.limits.membersMax, "\(count) members on \(channel)")
            try expect(!attendance.isVacant && attendance.count > 0, "\(channel) has nobody")
        }
    }

    /// Checks that nothing is left when all have gone, and all has expired.
    mutating func checkEmpty(at now: Int64) throws(Finding) {
        cache.expire(at: now)
        try expect(attendances.isEmpty, "\(attendances.keys) have subscribers, and nobody is there")
        try expect(cache.isEmpty, "\(cache.count) events are cached for ever")
        try expect(users.count == 0, "\(users.count) users are online, and nobody is there")
    }
}
