import Broker
import Primitives
import PusherProtocol

/// Who is signed in, and who watches whom.
extension BrokerState {
    /// Closes the connections that are signed in as a user.
    mutating func terminate(_ user: String, at now: Duration) {
        for connection in connections where self.user(of: connection) == user {
            let reason = "The app has closed this user's connections"
            close(connection, .unauthorized, reason, at: now)
        }
    }

    /// Does what time brings: users who stay away are told as gone, and late counts are told.
    mutating func tick(at now: Duration) {
        for (user, watchers) in users.leave(at: now.wholeMilliseconds) {
            report([user.id], isOnline: false, to: watchers)
        }
        for address in counts.due(at: now.wholeMilliseconds) { tellCount(address.name) }
    }

    func address(of user: UserID) -> UserAddress { UserAddress(app: app.id, id: user) }

    private func watcher(_ connection: Int) -> UserHome.Watcher {
        UserHome.Watcher(shard: 0, socketID: Self.socketID(connection))
    }

    mutating func watch(_ watched: [UserID], _ connection: Int) {
        for user in watched {
            let isOnline = users.watch(address(of: user), by: watcher(connection))
            report([user], isOnline: isOnline, to: [watcher(connection)])
        }
    }

    mutating func unwatch(_ watched: [UserID], _ connection: Int) {
        for user in watched { users.unwatch(address(of: user), by: watcher(connection)) }
    }

    mutating func report(
        _ users: [UserID],
        isOnline: Bool,
        to watchers: Set<UserHome.Watcher>
    ) {
        for watcher in watchers.sorted(by: { $0.socketID.first < $1.socketID.first }) {
            let connection = Int(watcher.socketID.first)
            let message = sessions[connection]?.learn(
                online: isOnline ? users : [],
                offline: isOnline ? [] : users
            )
            if let message { tell(message, connection) }
        }
    }
}
