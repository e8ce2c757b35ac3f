import Broker
import Primitives
import PusherProtocol

/// The users: who is signed in, and which connections watch them.
extension BrokerState {
    /// Closes the connections that are signed in as a user.
    mutating func terminate(_ user: String, at now: Duration) {
        for connection in connections where self.user(of: connection) == user {
            let reason = "The app has closed this user's connections"
            close(connection, .unauthorized, reason, at: now)
        }
    }

    /// Performs the due tasks: reports departed users and announces counts.
    mutating func tick(at now: Duration) {
        report(users.removeDeparted(at: now.wholeMilliseconds))
        announceCounts(at: now)
    }

    func address(of user: UserID) -> UserAddress { UserAddress(app: app.id, id: user) }

    private func watcher(_ connection: Int) -> UserHome.Watcher {
        UserHome.Watcher(shard: 0, socketID: Self.socketID(connection))
    }

    mutating func watch(_ watched: [UserID], _ connection: Int) {
        for user in watched {
            report([users.watch([user], of: app.id, by: watcher(connection))])
        }
    }

    mutating func unwatch(_ watched: [UserID], _ connection: Int) {
        users.unwatch(watched, of: app.id, by: watcher(connection))
    }

    /// Sends reports to watchers, the oldest connection first.
    mutating func report(_ reports: [UserHome.Report]) {
        for report in reports {
            for watcher in report.watchers.sorted(by: { $0.first < $1.first }) {
                let connection = Int(watcher.first)
                let message = sessions[connection]?
                    .updatePresence(online: report.online, offline: report.offline)
                if let message { send(message, connection) }
            }
        }
    }
}
