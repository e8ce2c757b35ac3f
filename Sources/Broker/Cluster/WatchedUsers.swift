/// The users of a cluster that connections of one node watch, and whether each is online as far as Redis has reported
/// it.
///
/// A value without I/O: each call returns the reports to send to the watchers.
public struct WatchedUsers: Sendable {
    private struct User {
        /// `nil` until it was read.
        var isOnline: Bool?
        var watchers: Set<UserHome.Watcher> = []
    }

    private var users: [UserAddress: User] = [:]

    /// Creates a list without users.
    public init() {}

    /// The watched users, in no particular order.
    public var addresses: some Collection<UserAddress> { users.keys }

    /// Adds a watcher of users, and returns their known states.
    ///
    /// It also returns the users that were not watched before, whose states have to be read.
    public mutating func watch(
        _ watched: [UserID],
        of app: AppID,
        by watcher: UserHome.Watcher
    ) -> (report: UserHome.Report, added: [UserAddress]) {
        var report = UserHome.Report(shard: watcher.shard, watchers: [watcher.socketID])
        var added: [UserAddress] = []
        for id in watched {
            let address = UserAddress(app: app, id: id)
            if users[address] == nil { added.append(address) }
            users[address, default: User()].watchers.insert(watcher)
            switch users[address]?.isOnline {
            case true?: report.online.append(id)
            case false?: report.offline.append(id)
            case nil: break
            }
        }
        return (report, added)
    }

    /// Removes a watcher of users, and returns the users that are no longer watched.
    public mutating func unwatch(
        _ watched: [UserID],
        of app: AppID,
        by watcher: UserHome.Watcher
    ) -> [UserAddress] {
        watched.compactMap { id in
            let address = UserAddress(app: app, id: id)
            guard users[address]?.watchers.remove(watcher) != nil,
                users[address]?.watchers.isEmpty == true
            else { return nil }
            users[address] = nil
            return address
        }
    }

    /// Updates the state of a user, and returns the reports if the state has changed.
    public mutating func update(_ user: UserAddress, isOnline: Bool) -> [UserHome.Report] {
        guard let known = users[user], known.isOnline != isOnline else { return [] }
        users[user]?.isOnline = isOnline
        return Dictionary(grouping: known.watchers, by: \.shard).map { shard, watchers in
            UserHome.Report(
                online: isOnline ? [user.id] : [],
                offline: isOnline ? [] : [user.id],
                shard: shard,
                watchers: watchers.map(\.socketID)
            )
        }
    }

    /// Forgets the states of users, because changes may be missed from now on; each is reported when it is read again.
    public mutating func forgetStates(of addresses: some Sequence<UserAddress>) {
        for address in addresses { users[address]?.isOnline = nil }
    }
}
