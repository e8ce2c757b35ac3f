import Broker
import Net
import PusherProtocol

/// What shards say to each other about users.
enum UserMessage: Sendable {
    /// To the user's home: one more connection is signed in as the user.
    case signedIn(UserAddress)
    /// To the user's home: one less is.
    case signedOut(UserAddress)
    /// To the users' home: say who of them is online, and who comes and goes from now on.
    case watch(AppID, [UserID], UserHome.Watcher)
    /// To the users' home: say no more of them.
    case unwatch(AppID, [UserID], UserHome.Watcher)
    /// From a home: who is online and who is not, for these connections.
    case report(online: [UserID], offline: [UserID], to: [SocketID])
    /// To every shard: close the connections that are signed in as the user.
    case terminate(UserAddress)
}

/// The users of one shard: its own connections that are signed in, and who is online among those whose home it is.
struct Users {
    fileprivate var home = UserHome()
    /// Whether a timer runs for the next user who goes offline.
    fileprivate var awaitsDeparture = false
    private var connections: [UserAddress: Set<SocketID>] = [:]

    /// The number of users as whom connections of this shard are signed in.
    var count: Int { connections.count }

    /// The number of users whose home this shard is, and who are online or watched.
    var homeCount: Int { home.count }

    /// The connections of this shard that are signed in as a user.
    func connections(of user: UserAddress) -> Set<SocketID> { connections[user] ?? [] }

    fileprivate mutating func enter(_ connection: SocketID, as user: UserAddress) {
        connections[user, default: []].insert(connection)
    }

    fileprivate mutating func leave(_ connection: SocketID, as user: UserAddress) {
        connections[user]?.remove(connection)
        if connections[user]?.isEmpty == true { connections[user] = nil }
    }
}

// MARK: - A shard's own connections

extension ShardCore {
    /// Counts a connection as signed in.
    func signIn(_ connection: Connection, as user: UserID) {
        let address = UserAddress(app: connection.app.id, id: user)
        users.enter(connection.socketID, as: address)
        send(.users(.signedIn(address)), to: address.home(among: shardCount))
    }

    /// Counts a connection out that was signed in.
    func signOut(_ connection: Connection, as user: UserID) {
        let address = UserAddress(app: connection.app.id, id: user)
        users.leave(connection.socketID, as: address)
        send(.users(.signedOut(address)), to: address.home(among: shardCount))
    }

    /// Has a connection told who of these users is online, comes and goes.
    func watch(_ watched: [UserID], of connection: Connection) {
        let watcher = UserHome.Watcher(shard: links.shard, socketID: connection.socketID)
        for (home, users) in byHome(watched, of: connection.app.id) {
            send(.users(.watch(connection.app.id, users, watcher)), to: home)
        }
    }

    /// Has a connection told nothing more of these users.
    func unwatch(_ watched: [UserID], of connection: Connection) {
        let watcher = UserHome.Watcher(shard: links.shard, socketID: connection.socketID)
        for (home, users) in byHome(watched, of: connection.app.id) {
            send(.users(.unwatch(connection.app.id, users, watcher)), to: home)
        }
    }

    /// Closes every connection, on all shards, that is signed in as a user.
    func terminate(_ user: UserAddress) {
        for shard in 0..<shardCount { send(.users(.terminate(user)), to: shard) }
    }

    private func byHome(_ watched: [UserID], of app: AppID) -> [Int: [UserID]] {
        Dictionary(grouping: watched) {
            UserAddress(app: app, id: $0).home(among: shardCount)
        }
    }
}

// MARK: - The users whose home this shard is

extension ShardCore {
    /// Takes in what another shard, or this one, says of users.
    func receive(_ message: UserMessage) {
        switch message {
        case .signedIn(let user): report(user.id, isOnline: true, to: users.home.signIn(user))
        case .signedOut(let user):
            users.home.signOut(user, at: reactor.milliseconds)
            awaitDeparture()
        case .watch(let app, let watched, let watcher):
            var (online, offline): ([UserID], [UserID]) = ([], [])
            for id in watched {
                let isOnline = users.home.watch(UserAddress(app: app, id: id), by: watcher)
                if isOnline { online.append(id) } else { offline.append(id) }
            }
            let report = UserMessage.report(
                online: online,
                offline: offline,
                to: [watcher.socketID]
            )
            send(.users(report), to: watcher.shard)
        case .unwatch(let app, let watched, let watcher):
            for id in watched { users.home.unwatch(UserAddress(app: app, id: id), by: watcher) }
        case .report(let online, let offline, let watchers):
            for watcher in watchers {
                connection(watcher)?.learn(online: online, offline: offline)
            }
        case .terminate(let user):
            for id in users.connections(of: user) {
                connection(id)?
                    .close(.unauthorized, message: "The app has closed this user's connections")
            }
        }
    }

    /// Tells of the users who have been away for long enough.
    func reportDepartures() {
        users.awaitsDeparture = false
        for (user, watchers) in users.home.leave(at: reactor.milliseconds) {
            report(user.id, isOnline: false, to: watchers)
        }
        awaitDeparture()
    }

    /// Sees to it that there is a timer while somebody is leaving, and none otherwise.
    private func awaitDeparture() {
        guard !users.awaitsDeparture, let time = users.home.nextDeparture else { return }
        users.awaitsDeparture = true
        reactor.schedule(
            after: .milliseconds(max(0, time - reactor.milliseconds)),
            self,
            tag: ShardCore.departuresTag
        )
    }

    private func report(_ user: UserID, isOnline: Bool, to watchers: Set<UserHome.Watcher>) {
        for (shard, watchers) in Dictionary(grouping: watchers, by: \.shard) {
            let report = UserMessage.report(
                online: isOnline ? [user] : [],
                offline: isOnline ? [] : [user],
                to: watchers.map(\.socketID)
            )
            send(.users(report), to: shard)
        }
    }
}
