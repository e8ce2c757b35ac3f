import Broker
import RESP
import Redis
import Shard

/// The signed-in users whose home is this shard.
///
/// Redis counts their connections on all nodes. It announces the users that come online or go offline, and those whose
/// connections a backend closes.
final class SharedUsers: UserAuthority {
    /// A user with connections or watchers on this node.
    private struct FollowedUser {
        let address: UserAddress
        var connectionCount = 0
        var isWatched = false
    }

    private let partitions: Partitions
    private let queries: SharedQueries
    // It owns this object.
    private unowned let service: UserService
    /// The users with connections or watchers on this node, by the names of their pub/sub channels.
    private var users: [String: FollowedUser] = [:]
    /// The same pub/sub channels by partition.
    private var topics: [Int: Set<String>] = [:]
    /// The partitions whose users have to be registered with Redis again, each with the time of ``follow(_:behind:)``.
    private var unfollowed: [Int: Int64] = [:]
    /// The users with watchers on this node.
    private var watched = WatchedUsers()
    /// Those whose state Redis has refused to report.
    private var unread: Set<UserAddress> = []
    private lazy var following = DelayedWork(on: partitions.context.reactor) { [unowned self] in
        followNext()
    }

    init(_ partitions: Partitions, _ queries: SharedQueries, _ service: UserService) {
        (self.partitions, self.queries, self.service) = (partitions, queries, service)
    }

    /// The number of users with connections or watchers on this node.
    var count: Int { users.count }

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
        let (topic, index, clusterUser) = target(of: user)
        guard let count = users[topic]?.connectionCount, count > 0 else { return }
        users[topic]?.connectionCount = count - 1
        guard count == 1 else { return }
        forgetIfUnused(topic)
        signOut(clusterUser, in: index)
    }

    /// Adds a user, and returns the user's pub/sub channel.
    private func add(_ user: UserAddress) -> String {
        let (topic, index, _) = target(of: user)
        if users.updateValue(users[topic] ?? FollowedUser(address: user), forKey: topic) == nil {
            topics[index, default: []].insert(topic)
        }
        return topic
    }

    /// Stops following a user without connections and watchers.
    private func forgetIfUnused(_ topic: String) {
        guard let user = users[topic], user.connectionCount == 0, !user.isWatched else { return }
        users[topic] = nil
        let index = partitions.index(of: user.address)
        topics[index]?.remove(topic)
        partitions.unsubscribe(from: [topic], in: index)
    }

    /// Follows all users of a store again after a loss of the connection.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func resume(in store: ClusterStore, partition index: Int? = nil) {
        for index in index.map({ [$0] }) ?? store.partitions {
            // The connection may have been lost again before the users were registered.
            unfollowed[index] = min(unfollowed[index] ?? .max, partitions[index].lastTime)
        }
        followNext()
        readStates(
            of: watched.addresses.filter {
                partitions.has(store, partitions.index(of: $0), only: index)
            }
        )
    }

    /// Registers the users of a partition with Redis again, which may have dropped them.
    func follow(partition index: Int) {
        follow(partition: index, behind: partitions[index].lastTime)
    }

    private func follow(partition index: Int, behind time: Int64) {
        for topic in topics[index] ?? [] where isConnected(topic) { follow(topic, behind: time) }
    }

    /// Registers the users of the next partition with Redis; the others follow in later turns.
    private func followNext() {
        let next = unfollowed.first { partitions[$0.key].store.isOpen }
        guard let (index, time) = next else { return }
        unfollowed[index] = nil
        follow(partition: index, behind: time)
        if !unfollowed.isEmpty { following.schedule(after: ClusterSettings.nextTurn) }
    }

    /// Registers a user's connections with Redis.
    ///
    /// - Parameters:
    ///   - topic: The pub/sub channel of the user.
    ///   - time: The time from which a termination may have been missed; `nil` if none was missed.
    private func follow(_ topic: String, behind time: Int64?) {
        guard let user = users[topic] else { return }
        let (_, index, clusterUser) = target(of: user.address)
        partitions.subscribe(to: [topic], in: index)
        let call = partitions[index].calls
            .setConnections(of: clusterUser, to: user.connectionCount)
        partitions.send(call, to: index) { [self] reply in
            guard let time, let connections = UserConnections(reply),
                let terminatedAt = connections.terminatedAt, terminatedAt >= time,
                let user = users[topic]
            else { return }
            service.terminate(user.address)
        }
    }

    func terminate(_ user: UserAddress, _ finish: @escaping (HomeAnswer) -> Void) {
        queries.answer(.terminate(user), finish)
    }

    /// Whether a user, of this pub/sub channel, has a connection of this node.
    private func isConnected(_ topic: String) -> Bool { users[topic]?.connectionCount ?? 0 > 0 }

    /// Signs a user out of this node in Redis, unless the user has a connection.
    func signOutIfAbsent(_ user: ClusterUser, in index: Int) {
        let topic = "\(partitions[index].calls.keys.announcements(user))"
        if !isConnected(topic) { signOut(user, in: index) }
    }

    private func signOut(_ user: ClusterUser, in index: Int) {
        let call = partitions[index].calls.setConnections(of: user, to: 0)
        partitions.send(call, to: index, as: UnawaitedCall())
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
        for (index, users) in Dictionary(grouping: users, by: { partitions.index(of: $0) }) {
            for start in stride(from: 0, to: users.count, by: ClusterScripts.messageCountMax) {
                let some = Array(users[start...].prefix(ClusterScripts.messageCountMax))
                let targets = some.map { target(of: $0) }
                partitions.subscribe(to: targets.map(\.topic), in: index)
                let call = partitions[index].calls.watch(targets.map(\.user))
                partitions.send(call, to: index) { [self] reply in receive(reply, of: some) }
            }
        }
    }

    /// Reads the states again that Redis has refused to report.
    func readRefusedStates() {
        let users = exchange(&unread, with: [])
        readStates(of: Array(users.intersection(watched.addresses)))
    }

    /// Called when the connection to a store is lost, so that changes are missed from now on.
    func forgetStates(in store: ClusterStore) {
        watched.forgetStates(
            of: watched.addresses.filter { partitions[partitions.index(of: $0)].store === store }
        )
    }

    private func receive(_ reply: borrowing RESPView, of users: [UserAddress]) {
        guard RedisError(reply) == nil, reply.count == users.count else {
            unread.formUnion(users)
            return
        }
        var index = 0
        reply.forEach { element in
            service.send(watched.update(users[index], isOnline: element.integer == 1))
            index += 1
        }
    }

    // MARK: - Announcements

    /// The index of the partition of a user's pub/sub channel; `nil` for one of another kind.
    func partition(ofTopic topic: String) -> Int? {
        users[topic].map { partitions.index(of: $0.address) }
    }

    /// Receives what is published for a user.
    func receive(_ message: borrowing RESPView, at topic: String) {
        guard let user = users[topic]?.address else { return }
        switch UserAnnouncement(message.copy()) {
        case .terminate: service.terminate(user)
        case .online: service.send(watched.update(user, isOnline: true))
        case .offline: service.send(watched.update(user, isOnline: false))
        case nil: break
        }
    }

    private func target(
        of user: UserAddress
    ) -> (topic: String, partition: Int, user: ClusterUser) {
        let index = partitions.index(of: user)
        let clusterUser = ClusterUser(user)
        let topic = partitions[index].calls.keys.announcements(clusterUser)
        return ("\(topic)", index, clusterUser)
    }
}

extension ClusterUser {
    init(_ user: UserAddress) { self.init(app: user.app.text, id: user.id.text) }
}
