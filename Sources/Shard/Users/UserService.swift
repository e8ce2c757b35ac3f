package import Broker
import Net
import PusherProtocol

/// The users of one shard: its own signed-in connections, and the homes of the users that it owns.
package final class UserService: TimerTarget {
    private let context: ShardContext
    private let connections: Connections
    private var home = UserHome()
    /// The home of all nodes' users; `nil` for a standalone broker.
    var cluster: (any SharedUserHome)?
    private var isDepartureTimerRunning = false
    /// The connections of this shard that are signed in, by user.
    private var signedIn: [UserAddress: Set<SocketID>] = [:]

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
    }

    /// The number of users with a signed-in connection on this shard.
    var signedInCount: Int { signedIn.count }

    /// The number of users that are online or watched and whose home is this shard.
    var homeCount: Int { cluster?.followedUserCount ?? home.count }

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
        case .signedIn(let user):
            if let cluster { return cluster.signedIn(user) }
            send(home.signIn(user))
        case .signedOut(let user):
            if let cluster { return cluster.signedOut(user) }
            home.signOut(user, at: context.milliseconds)
            startDepartureTimer()
        case .watch(let app, let users, let watcher):
            let report =
                cluster?.watch(users, of: app, by: watcher)
                ?? home.watch(users, of: app, by: watcher)
            send([report])
        case .unwatch(let app, let users, let watcher):
            if let cluster { return cluster.unwatch(users, of: app, by: watcher) }
            home.unwatch(users, of: app, by: watcher)
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

    // MARK: - Departures

    /// Starts the timer of the next departure, unless it is running or no departure is pending.
    private func startDepartureTimer() {
        guard !isDepartureTimerRunning, let time = home.nextDeparture else { return }
        isDepartureTimerRunning = true
        let delay = Duration.milliseconds(max(0, time - context.milliseconds))
        context.reactor.schedule(after: delay, self)
    }

    package func timerFired(tag: Int) {
        isDepartureTimerRunning = false
        send(home.removeDeparted(at: context.milliseconds))
        startDepartureTimer()
    }
}
