public import PusherProtocol

/// A user of an app: users of one ID in two apps are different users.
public struct UserAddress: Hashable, Sendable {
    /// The app that the user belongs to.
    public let app: AppID
    /// The user.
    public let id: UserID

    /// Creates the address of user `id` of `app`.
    public init(app: AppID, id: UserID) {
        self.app = app
        self.id = id
    }

    /// The home shard of this user, among `shardCount`; see ``ChannelAddress/home(among:)``.
    public func home(among shardCount: Int) -> Int { app.home(of: id.text, among: shardCount) }
}

/// The users of one home shard: which of them are online, and which connections watch them (Pusher documentation,
/// "Watchlist events").
///
/// A user is online while a connection is signed in as them, and for ``absenceMax`` after the last one. So reloading a
/// page is not an absence. All times are milliseconds of one steady clock.
///
/// A value without I/O: each call returns the reports to send to the watchers. A report contains states, not changes;
/// it may repeat a known state.
public struct UserHome: Sendable {
    /// A connection that watches users.
    public struct Watcher: Hashable, Sendable {
        /// The number of the connection's shard.
        public let shard: Int
        /// The connection.
        public let socketID: SocketID

        /// Creates a watcher.
        public init(shard: Int, socketID: SocketID) {
            self.shard = shard
            self.socketID = socketID
        }
    }

    /// Whether users are online, for watchers of one shard.
    public struct Report: Sendable, Equatable {
        /// The users that are online.
        public var online: [UserID] = []
        /// The users that are offline.
        public var offline: [UserID] = []
        /// The number of the watchers' shard.
        public let shard: Int
        /// The connections to report to.
        public let watchers: [SocketID]

        /// Whether it contains any state.
        public var isEmpty: Bool { online.isEmpty && offline.isEmpty }
    }

    /// The time for which a user without a connection stays online.
    public static let absenceMax: Int64 = 3_000

    private struct User {
        var connectionCount = 0
        /// When the user goes offline, if no connection is signed in.
        var leavesAt: Int64?
        var watchers: Set<Watcher> = []

        var isOnline: Bool { connectionCount > 0 || leavesAt != nil }
        var isUnused: Bool { !isOnline && watchers.isEmpty }
    }

    private var users: [UserAddress: User] = [:]
    /// The users without a connection, in the order in which they go offline.
    private var leaving: [(user: UserAddress, at: Int64)] = []

    /// Creates a home without users.
    public init() {}

    /// The number of users that are online or watched.
    public var count: Int { users.count }

    /// Whether a user is online.
    public func isOnline(_ user: UserAddress) -> Bool { users[user]?.isOnline ?? false }

    /// Increments the number of a user's connections.
    public mutating func signIn(_ user: UserAddress) -> [Report] {
        let wasOnline = isOnline(user)
        users[user, default: User()].connectionCount += 1
        users[user]?.leavesAt = nil
        return wasOnline ? [] : reports(that: user, isOnline: true)
    }

    /// Decrements the number of a user's connections.
    ///
    /// After the last, ``removeDeparted(at:)`` reports the user as offline, ``absenceMax`` later.
    public mutating func signOut(_ user: UserAddress, at now: Int64) {
        guard let count = users[user]?.connectionCount else { return }
        precondition(count > 0, "more signed out than signed in")
        users[user]?.connectionCount = count - 1
        guard count == 1 else { return }
        let leavesAt = now + UserHome.absenceMax
        users[user]?.leavesAt = leavesAt
        leaving.append((user, leavesAt))
    }

    /// Reports the users that have gone offline by now.
    public mutating func removeDeparted(at now: Int64) -> [Report] {
        let end = leaving.firstIndex { $0.at > now } ?? leaving.endIndex
        let due = leaving[..<end]
        leaving.removeFirst(end)
        return due.flatMap { user, at -> [Report] in
            // A user that has returned leaves at another time, or not at all.
            guard users[user]?.leavesAt == at else { return [] }
            users[user]?.leavesAt = nil
            defer { removeIfUnused(user) }
            return reports(that: user, isOnline: false)
        }
    }

    /// When ``removeDeparted(at:)`` may have something to report next; `nil` while no user is leaving.
    public var nextDeparture: Int64? { leaving.first?.at }

    /// Adds a watcher of users, and returns which of the users are online.
    public mutating func watch(
        _ watched: [UserID],
        of app: AppID,
        by watcher: Watcher
    ) -> Report {
        var report = Report(shard: watcher.shard, watchers: [watcher.socketID])
        for id in watched {
            let user = UserAddress(app: app, id: id)
            users[user, default: User()].watchers.insert(watcher)
            if isOnline(user) { report.online.append(id) } else { report.offline.append(id) }
        }
        return report
    }

    /// Removes a watcher of users.
    public mutating func unwatch(_ watched: [UserID], of app: AppID, by watcher: Watcher) {
        for id in watched {
            let user = UserAddress(app: app, id: id)
            guard users[user]?.watchers.remove(watcher) != nil else { continue }
            removeIfUnused(user)
        }
    }

    private func reports(that user: UserAddress, isOnline: Bool) -> [Report] {
        Dictionary(grouping: users[user]?.watchers ?? [], by: \.shard).map { shard, watchers in
            Report(
                online: isOnline ? [user.id] : [],
                offline: isOnline ? [] : [user.id],
                shard: shard,
                watchers: watchers.map(\.socketID)
            )
        }
    }

    private mutating func removeIfUnused(_ user: UserAddress) {
        if users[user]?.isUnused == true { users[user] = nil }
    }
}
