package import Broker
import Net
import PusherProtocol

/// The users of one shard: its own signed-in connections, and the messages to and from the users' homes.
package final class UserService {
    private let context: ShardContext
    private let connections: Connections
    /// Decides about the users whose home is this shard: the shard, unless the nodes of a cluster share them.
    lazy var authority: any UserAuthority = LocalUsers(context, self)
    /// The connections of this shard that are signed in, by user.
    private var signedIn: [UserAddress: Set<SocketID>] = [:]

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
    }

    /// The number of users with a signed-in connection on this shard.
    var signedInCount: Int { signedIn.count }

    /// The number of users that are online or watched and whose home is this shard.
    var homeCount: Int { authority.count }

    // MARK: - This shard's connections

    /// Records that a connection has signed in.
    func signIn(_ connection: Connection, as user: UserID) {
        let address = UserAddress(app: connection.app.id, id: user)
        signedIn[address, default: []].insert(connection.socketID)
        send(.signedIn(address), to: context.home(of: address))
    }

    /// Records that a connection has signed out.
    func signOut(_ connection: Connection, as user: UserID) {
        let address = UserAddress(app: connection.app.id, id: user)
        signedIn[address]?.remove(connection.socketID)
        if signedIn[address]?.isEmpty == true { signedIn[address] = nil }
        send(.signedOut(address), to: context.home(of: address))
    }

    /// Subscribes a connection to the online status of these users.
    func watch(_ users: [UserID], by connection: Connection) {
        let watcher = UserHome.Watcher(shard: context.shard, socketID: connection.socketID)
        for (home, users) in byHome(users, of: connection.app.id) {
            send(.watch(connection.app.id, users, watcher), to: home)
        }
    }

    /// Ends the subscription of a connection to the online status of these users.
    func unwatch(_ users: [UserID], by connection: Connection) {
        let watcher = UserHome.Watcher(shard: context.shard, socketID: connection.socketID)
        for (home, users) in byHome(users, of: connection.app.id) {
            send(.unwatch(connection.app.id, users, watcher), to: home)
        }
    }

    /// Closes every connection, on all shards, that is signed in as a user.
    package func terminate(_ user: UserAddress) {
        for shard in 0..<context.shardCount { send(.terminate(user), to: shard) }
    }

    private func byHome(_ users: [UserID], of app: AppID) -> [Int: [UserID]] {
        Dictionary(grouping: users) {
            context.home(of: UserAddress(app: app, id: $0))
        }
    }

    // MARK: - Messages

    private func send(_ message: UserMessage, to shard: Int) {
        if shard == context.shard {
            receive(message)
        } else {
            context.links.send(.users(message), to: shard)
        }
    }

    /// Processes a message of another shard, or of this one.
    func receive(_ message: UserMessage) {
        switch message {
        case .signedIn(let user): authority.signedIn(user)
        case .signedOut(let user): authority.signedOut(user)
        case .watch(let app, let users, let watcher):
            send([authority.watch(users, of: app, by: watcher)])
        case .unwatch(let app, let users, let watcher):
            authority.unwatch(users, of: app, by: watcher)
        case .report(let report):
            for watcher in report.watchers {
                connections[watcher]?.reportUsers(online: report.online, offline: report.offline)
            }
        case .terminate(let user):
            for id in signedIn[user] ?? [] {
                connections[id]?
                    .close(.unauthorized, message: "The app has closed this user's connections")
            }
        }
    }

    /// Reports the states of users to their watchers.
    package func send(_ reports: [UserHome.Report]) {
        for report in reports where !report.isEmpty { send(.report(report), to: report.shard) }
    }
}
