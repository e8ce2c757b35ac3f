import Broker
import PusherProtocol

/// Checks of the model broker once all messages are delivered.
extension ModelBroker {
    /// Delivers all messages.
    mutating func deliverAll() throws(Finding) {
        while links.hasMessages { try deliver(from: 0) }
    }

    /// Delivers all messages, then compares the states of homes, sessions and clients.
    mutating func settle() throws(Finding) {
        try deliverAll()
        try checkSubscribers()
        try checkUsers()
    }

    /// Closes all connections, and checks that no state is left.
    mutating func endAll() throws(Finding) {
        try settle()
        for place in clients.keys.sorted() { try close(place) }
        try settle()
        try advance(by: UserHome.absenceMax + EventCache.missInterval)
        try deliverAll()
        for shard in homes.indices { try homes[shard].checkEmpty(at: now) }
        try expect(app.quota.isUnused, "the app's quota is still used")
        try expect(absentUntil.isEmpty, "\(absentUntil.keys) never went offline")
    }

    private func checkSubscribers() throws(Finding) {
        var counts: [ChannelName: Int] = [:]
        var users: [ChannelName: Set<UserID>] = [:]
        for client in clients.values {
            try expectEqual(
                Set(client.subscriptions.keys),
                client.requested,
                "the granted subscriptions"
            )
            for (channel, subscription) in client.subscriptions {
                let home = homes[home(channel)]
                counts[channel, default: 0] += 1
                let user = home.channels[channel]?.presence.user(of: client.socketID)
                try expectEqual(user != nil, channel.kind.isPresence, "a user on \(channel)")
                if let user { users[channel, default: []].insert(user) }
                try expectEqual(
                    subscription.last,
                    home.sequences[channel] ?? 0,
                    "the last of \(channel)"
                )
                let members = home.channels[channel]?.presence.members.map(\.id) ?? []
                try expectEqual(subscription.members, Set(members), "the members of \(channel)")
            }
        }
        for home in homes {
            for (channel, channelHome) in home.channels {
                try expectEqual(
                    channelHome.subscribers.total,
                    counts[channel] ?? 0,
                    "the number of subscribers of \(channel)"
                )
                let members = Set(channelHome.presence.members.map(\.id))
                try expectEqual(members, users[channel] ?? [], "the users of the members")
            }
        }
        let known = homes.flatMap(\.channels.keys)
        try expectEqual(Set(known), Set(counts.keys), "the channels that have subscribers")
    }

    private func checkUsers() throws(Finding) {
        var connections: [UserID: Int] = [:]
        for client in clients.values {
            if let user = client.session.user { connections[user, default: 0] += 1 }
        }
        try expectEqual(
            signedIn.filter { $0.value > 0 },
            connections,
            "the connections of each user"
        )
        let online = Set(connections.keys).union(absentUntil.keys)
        for user in (0..<4).map({ UserID("u\($0)") }) {
            let isOnline = homes[home(user)].users.isOnline(address(user))
            try expectEqual(isOnline, online.contains(user), "\(user) is online")
            for client in clients.values where client.watched.contains(user) {
                try expectEqual(
                    client.presences[user],
                    isOnline,
                    "the received presence of \(user)"
                )
            }
        }
    }
}
