import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Signed-in users whose home is this shard: a backend closes their connections on all nodes.
extension ClusterHome {
    /// A user with connections on this node.
    struct FollowedUser {
        let address: UserAddress
        var connectionCount: Int
    }

    /// Called when a connection of this node has signed in.
    func signedIn(_ user: UserAddress) {
        let (topic, _, _) = target(of: user)
        users[topic, default: FollowedUser(address: user, connectionCount: 0)].connectionCount += 1
        guard users[topic]?.connectionCount == 1 else { return }
        follow(topic, behind: nil)
    }

    /// Called when a connection of this node has signed out.
    func signedOut(_ user: UserAddress) {
        let (topic, calls, clusterUser) = target(of: user)
        guard let count = users[topic]?.connectionCount else { return }
        users[topic]?.connectionCount = count - 1
        guard count == 1 else { return }
        users[topic] = nil
        send(.topics) { connection throws(RedisCallError) in
            try connection.unsubscribe(from: [topic])
        }
        send(calls.setConnections(of: clusterUser, to: 0), as: .user(topic, behind: nil))
    }

    /// Follows all users again, behind a loss of the connection.
    func followUsers() {
        for (topic, user) in users {
            follow(topic, behind: partitions[partition(of: user.address)].lastTime)
        }
    }

    /// Tells Redis of a user's connections.
    ///
    /// - Parameters:
    ///   - topic: The pub/sub channel of the user.
    ///   - time: The time from which on a termination was not received; `nil` if none was missed.
    private func follow(_ topic: String, behind time: Int64?) {
        guard isOpen, let user = users[topic] else { return }
        let (_, calls, clusterUser) = target(of: user.address)
        send(.topics) { connection throws(RedisCallError) in try connection.subscribe(to: [topic]) }
        send(
            calls.setConnections(of: clusterUser, to: user.connectionCount),
            as: .user(topic, behind: time)
        )
    }

    func receive(_ reply: borrowing RESPView, ofUserAt topic: String, behind time: Int64?) {
        guard let time, let connections = UserConnections(reply),
            let terminatedAt = connections.terminatedAt, terminatedAt >= time,
            let user = users[topic]
        else { return }
        terminateHere(user.address)
    }

    /// Receives what is published for a user.
    func receive(_ announcement: UserAnnouncement?, at topic: String) {
        guard case .terminate = announcement, let user = users[topic] else { return }
        terminateHere(user.address)
    }

    /// The call that closes a user's connections on all nodes.
    func termination(of user: UserAddress) -> ScriptCall {
        let (_, calls, clusterUser) = target(of: user)
        return calls.terminate(clusterUser)
    }

    private func partition(of user: UserAddress) -> Int {
        user.home(among: settings.partitionCount) / context.shardCount
    }

    private func target(of user: UserAddress) -> (String, PartitionCalls, ClusterUser) {
        let calls = partitions[partition(of: user)].calls
        let clusterUser = ClusterUser(app: user.app.text, id: user.id.text)
        return ("\(calls.keys.announcements(clusterUser))", calls, clusterUser)
    }
}
