import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Signed-in users whose home is this shard. Redis counts their connections on all nodes. It announces the users that
// come online or go offline, and those whose connections a backend closes.
extension ClusterHome {
    /// A user with connections or watchers on this node.
    struct FollowedUser {
        let address: UserAddress
        var connectionCount = 0
        var isWatched = false
    }

    /// The number of users with connections or watchers on this node.
    var followedUserCount: Int { users.count }

    // MARK: - Connections

    /// Called when a connection of this node has signed in.
    func signedIn(_ user: UserAddress) {
        let topic = add(user)
        users[topic]?.connectionCount += 1
        guard users[topic]?.connectionCount == 1 else { return }
        follow(topic, behind: nil)
    }

    /// Called when a connection of this node has signed out.
    func signedOut(_ user: UserAddress) {
        let (topic, partition, clusterUser) = target(of: user)
        guard let count = users[topic]?.connectionCount, count > 0 else { return }
        users[topic]?.connectionCount = count - 1
        guard count == 1 else { return }
        forgetIfUnused(topic)
        let call = partitions[partition].calls.setConnections(of: clusterUser, to: 0)
        send(call, to: partition, as: .user(topic, behind: nil))
    }

    /// Adds a user, and returns the user's pub/sub channel.
    private func add(_ user: UserAddress) -> String {
        let (topic, partition, _) = target(of: user)
        if users.updateValue(users[topic] ?? FollowedUser(address: user), forKey: topic) == nil {
            partitions[partition].users.insert(topic)
        }
        return topic
    }

    /// Stops following a user without connections and watchers.
    private func forgetIfUnused(_ topic: String) {
        guard let user = users[topic], user.connectionCount == 0, !user.isWatched else { return }
        users[topic] = nil
        partitions[partition(of: user.address)].users.remove(topic)
        unsubscribe(from: [topic], in: partition(of: user.address))
    }

    /// Follows all users of a store again after a loss of the connection.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func followUsers(in store: ClusterStore, partition index: Int? = nil) {
        func isMeant(_ partition: Int) -> Bool {
            partitions[partition].store === store && index ?? partition == partition
        }
        for index in store.partitions where isMeant(index) {
            // The connection may have been lost again before the users were registered.
            unfollowed[index] = min(unfollowed[index] ?? .max, partitions[index].lastTime)
        }
        followNextUsers()
        readStates(of: watched.addresses.filter { isMeant(partition(of: $0)) })
    }

    /// Registers the users of a partition with Redis again, which may have dropped them.
    func followUsers(in index: Int) { followUsers(in: index, behind: partitions[index].lastTime) }

    private func followUsers(in index: Int, behind time: Int64) {
        for topic in partitions[index].users where users[topic]?.connectionCount ?? 0 > 0 {
            follow(topic, behind: time)
        }
    }

    /// Registers the users of the next partition with Redis; the others follow in later turns.
    func followNextUsers() {
        let next = unfollowed.first { partitions[$0.key].store.isOpen }
        guard let (index, time) = next else { return }
        unfollowed[index] = nil
        followUsers(in: index, behind: time)
        if !unfollowed.isEmpty { startTimer(.users, after: Self.nextTurn) }
    }

    /// Registers a user's connections with Redis.
    ///
    /// - Parameters:
    ///   - topic: The pub/sub channel of the user.
    ///   - time: The time from which a termination may have been missed; `nil` if none was missed.
    private func follow(_ topic: String, behind time: Int64?) {
        guard let user = users[topic] else { return }
        let (_, partition, clusterUser) = target(of: user.address)
        subscribe(to: [topic], in: partition)
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

    /// The call that closes a user's connections on all nodes.
    func termination(of user: UserAddress) -> ScriptCall {
        let (_, partition, clusterUser) = target(of: user)
        return partitions[partition].calls.terminate(clusterUser)
    }

    // MARK: - Watchers

    /// Adds a watcher of users on this node, and returns the known states; the others are reported when Redis has
    /// answered.
    func watch(
        _ ids: [UserID],
        of app: AppID,
        by watcher: UserHome.Watcher
    ) -> UserHome.Report {
        let (report, added) = watched.watch(ids, of: app, by: watcher)
        for user in added {
            users[add(user)]?.isWatched = true
        }
        readStates(of: added)
        return report
    }

    /// Removes a watcher of users.
    func unwatch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) {
        for user in watched.unwatch(ids, of: app, by: watcher) {
            let topic = target(of: user).topic
            users[topic]?.isWatched = false
            forgetIfUnused(topic)
        }
    }

    /// Reads which users are online; later changes are announced.
    private func readStates(of users: [UserAddress]) {
        for (index, users) in Dictionary(grouping: users, by: { partition(of: $0) }) {
            for start in stride(from: 0, to: users.count, by: ClusterScripts.messageCountMax) {
                let some = Array(users[start...].prefix(ClusterScripts.messageCountMax))
                let targets = some.map { target(of: $0) }
                subscribe(to: targets.map(\.topic), in: index)
                let call = partitions[index].calls.watch(targets.map(\.user))
                send(call, to: index, as: .watch(some))
            }
        }
    }

    /// Reads the states again that Redis has refused to report.
    func readRefusedStates() {
        let users = exchange(&unreadUsers, with: [])
        readStates(of: Array(users.intersection(watched.addresses)))
    }

    /// Called when the connection to a store is lost, so that changes are missed from now on.
    func forgetStates(in store: ClusterStore) {
        watched.forgetStates(
            of: watched.addresses.filter { partitions[partition(of: $0)].store === store }
        )
    }

    func receive(_ reply: borrowing RESPView, of users: [UserAddress]) {
        guard RedisError(reply) == nil, reply.count == users.count else {
            unreadUsers.formUnion(users)
            return
        }
        var index = 0
        reply.forEach { element in
            reportUsers(watched.update(users[index], isOnline: element.integer == 1))
            index += 1
        }
    }

    // MARK: - Announcements

    /// Receives what is published for a user.
    func receive(_ announcement: UserAnnouncement?, at topic: String) {
        guard let user = users[topic]?.address else { return }
        switch announcement {
        case .terminate: terminateHere(user)
        case .online: reportUsers(watched.update(user, isOnline: true))
        case .offline: reportUsers(watched.update(user, isOnline: false))
        case nil: break
        }
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
