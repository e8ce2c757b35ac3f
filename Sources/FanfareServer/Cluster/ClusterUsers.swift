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
        let topic = target(of: user).topic
        users[topic, default: FollowedUser(address: user, connectionCount: 0)].connectionCount += 1
        guard users[topic]?.connectionCount == 1 else { return }
        follow(topic, behind: nil)
    }

    /// Called when a connection of this node has signed out.
    func signedOut(_ user: UserAddress) {
        let (topic, partition, clusterUser) = target(of: user)
        guard let count = users[topic]?.connectionCount else { return }
        users[topic]?.connectionCount = count - 1
        guard count == 1 else { return }
        users[topic] = nil
        send(to: partition, as: .topics) { connection throws(RedisCallError) in
            try connection.unsubscribe(from: [topic])
        }
        let call = partitions[partition].calls.setConnections(of: clusterUser, to: 0)
        send(call, to: partition, as: .user(topic, behind: nil))
    }

    /// Follows all users of a store again, behind a loss of the connection.
    func followUsers(in store: ClusterStore) {
        for (topic, user) in users {
            let partition = partitions[partition(of: user.address)]
            if partition.store === store { follow(topic, behind: partition.lastTime) }
        }
    }

    /// Tells Redis of a user's connections.
    ///
    /// - Parameters:
    ///   - topic: The pub/sub channel of the user.
    ///   - time: The time from which on a termination was not received; `nil` if none was missed.
    private func follow(_ topic: String, behind time: Int64?) {
        guard let user = users[topic] else { return }
        let (_, partition, clusterUser) = target(of: user.address)
        send(to: partition, as: .topics) { connection throws(RedisCallError) in
            try connection.subscribe(to: [topic])
        }
        let calls = partitions[partition].calls
        let call = calls.setConnections(of: clusterUser, to: user.connectionCount)
        send(call, to: partition, as: .user(topic, behind: time))
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
        let (_, partition, clusterUser) = target(of: user)
        return partitions[partition].calls.terminate(clusterUser)
    }

    func partition(of user: UserAddress) -> Int {
        user.home(among: settings.partitionCount) / context.shardCount
    }

    private func target(
        of user: UserAddress
    ) -> (topic: String, partition: Int, user: ClusterUser) {
        let partition = partition(of: user)
        let clusterUser = ClusterUser(app: user.app.text, id: user.id.text)
        let topic = partitions[partition].calls.keys.announcements(clusterUser)
        return ("\(topic)", partition, clusterUser)
    }
}
