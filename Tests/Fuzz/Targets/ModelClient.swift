import Broker
import PusherProtocol

/// A connection of the model broker: its session, and the state of the client.
///
/// Each message to the client is checked against that state: no duplicates, no wrong order.
struct ModelClient {
    /// The client's state of a channel.
    struct Subscription {
        /// The sequence number of the last event, received or excluded.
        var last: Int
        var members: Set<UserID>
    }

    var session: Session
    let shard: Int
    /// Expected state: the channels that the session has requested, by its effects.
    var requested: Set<ChannelName> = []
    private(set) var subscriptions: [ChannelName: Subscription] = [:]
    /// The users' last received presence.
    private(set) var presences: [UserID: Bool] = [:]
    var watched: Set<UserID> = []

    init(session: Session, shard: Int) {
        self.session = session
        self.shard = shard
    }

    var socketID: SocketID { session.socketID }

    /// Removes a subscription.
    mutating func removeSubscription(from channel: ChannelName) { subscriptions[channel] = nil }

    /// Handles the home's grant, unless the session no longer awaits it.
    mutating func receive(
        _ grant: ModelHome.Grant,
        on channel: ChannelName,
        request: UInt32
    ) throws(Finding) {
        guard session.granted(channel, request: request) else { return }
        try expect(subscriptions[channel] == nil, "\(channel) was granted twice")
        try expect(requested.contains(channel), "\(channel) was granted, but not requested")
        let members = Set(grant.members.map(\.id))
        try expect(members.count == grant.members.count, "a member twice on \(channel)")
        subscriptions[channel] = Subscription(last: grant.sequence, members: members)
    }

    /// Handles an event of a channel.
    mutating func receive(_ event: ModelHome.Event, on channel: ChannelName) throws(Finding) {
        guard var subscription = subscriptions[channel] else { return }
        try expectEqual(event.sequence, subscription.last + 1, "the next event of \(channel)")
        subscription.last = event.sequence
        switch event.kind {
        case .message: break
        case .added(let user):
            try expect(
                subscription.members.insert(user).inserted,
                "\(user) is added to \(channel) twice"
            )
        case .removed(let user):
            try expect(
                subscription.members.remove(user) != nil,
                "\(user) is removed from \(channel) twice"
            )
        }
        subscriptions[channel] = subscription
    }

    /// Handles a presence report of a user's home.
    mutating func updatePresence(_ user: UserID, isOnline: Bool) throws(Finding) {
        let message = session.updatePresence(
            online: isOnline ? [user] : [],
            offline: isOnline ? [] : [user]
        )
        guard case .watchlist(let online, let offline)? = message else { return }
        for (ids, isOnline) in [(online, true), (offline, false)] {
            for id in ids.map({ UserID($0) }) {
                try expect(watched.contains(id), "\(id) is not watched")
                try expect(presences[id] != isOnline, "\(id) is reported twice as \(isOnline)")
                presences[id] = isOnline
            }
        }
    }

    /// Removes watched users.
    mutating func unwatch(_ users: [UserID]) {
        for user in users {
            watched.remove(user)
            presences[user] = nil
        }
    }

    /// Checks that the session has exactly the requested subscriptions.
    func checkSubscriptions(max: Int) throws(Finding) {
        var channels: Set<ChannelName> = []
        session.subscriptions.forEachChannel { channels.insert($0) }
        try expectEqual(channels, requested, "the channels of \(socketID)")
        try expect(channels.count <= max, "\(channels.count) subscriptions")
        try expect(
            Set(subscriptions.keys).isSubset(of: requested),
            "\(socketID) has unrequested subscriptions"
        )
    }
}
