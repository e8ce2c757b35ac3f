public import PusherProtocol

/// A user of an app: users of one id in two apps have nothing to do with each other.
public struct UserAddress: Hashable, Sendable {
    /// The app that the user belongs to.
    public let app: AppID
    /// Who it is.
    public let id: UserID

    /// Makes the address of user `id` of `app`.
    public init(app: AppID, id: UserID) {
        self.app = app
        self.id = id
    }

    /// The shard that is home to this user, among `shardCount`; see `ChannelAddress.home(among:)`.
    public func home(among shardCount: Int) -> Int { app.home(of: id.text, among: shardCount) }
}

/// The users whose home is one shard: who of them is online, and who watches them (Pusher documentation, "Watchlist
/// events").
///
/// A user is online while a connection is signed in as them, and for a moment after: who loads a page anew has not been
/// away. All times are milliseconds of one steady clock.
public struct UserHome: Sendable {
    /// A connection that is told of a user's coming and going.
    public struct Watcher: Hashable, Sendable {
        /// The shard that holds the connection.
        public let shard: Int
        /// The connection.
        public let socketID: SocketID

        /// Names connection `socketID` of `shard`.
        public init(shard: Int, socketID: SocketID) {
            self.shard = shard
            self.socketID = socketID
        }
    }

    /// How long a user without a connection is still online.
    public static let absenceMax: Int64 = 3_000

    private struct User {
        var connectionCount = 0
        /// Until when the user counts as online although no connection is signed in.
        var leavesAt: Int64?
        var watchers: Set<Watcher> = []

        var isOnline: Bool { connectionCount > 0 || leavesAt != nil }
        var isNobody: Bool { !isOnline && watchers.isEmpty }
    }

    private var users: [UserAddress: User] = [:]
    /// Who was left by their last connection, in the order in which they go offline.
    private var leaving: [(user: UserAddress, at: Int64)] = []

    /// Makes the home of nobody.
    public init() {}

    /// The number of users that are online or watched.
    public var count: Int { users.count }

    /// Whether a user is online.
    public func isOnline(_ user: UserAddress) -> Bool { users[user]?.isOnline ?? false }

    /// Counts one more connection that is signed in as the user.
    ///
    /// - Returns: Who is to be told that the user is online now; nobody if the user was so before.
    public mutating func signIn(_ user: UserAddress) -> Set<Watcher> {
        let wasOnline = isOnline(user)
        users[user, default: User()].connectionCount += 1
        users[user]?.leavesAt = nil
        return wasOnline ? [] : users[user]?.watchers ?? []
    }

    /// Counts one connection less that is signed in as the user.
    ///
    /// When it was the last, ``leave(at:)`` names the user a moment later, unless they come back.
    public mutating func signOut(_ user: UserAddress, at now: Int64) {
        guard let count = users[user]?.connectionCount else { return }
        precondition(count > 0, "more signed out than signed in")
        users[user]?.connectionCount = count - 1
        guard count == 1 else { return }
        let leavesAt = now + UserHome.absenceMax
        users[user]?.leavesAt = leavesAt
        leaving.append((user, leavesAt))
    }

    /// The users that are offline from now on, and who is to be told.
    public mutating func leave(at now: Int64) -> [(user: UserAddress, watchers: Set<Watcher>)] {
        let end = leaving.firstIndex { $0.at > now } ?? leaving.endIndex
        let due = leaving[..<end]
        leaving.removeFirst(end)
        return due.compactMap { user, at in
            // Whoever has come back meanwhile is to leave at another time, or not at all.
            guard users[user]?.leavesAt == at else { return nil }
            users[user]?.leavesAt = nil
            let watchers = users[user]?.watchers ?? []
            forgetNobody(user)
            return (user, watchers)
        }
    }

    /// When ``leave(at:)`` may have something to say next; `nil` while nobody is leaving.
    public var nextDeparture: Int64? { leaving.first?.at }

    /// Tells a connection of a user's coming and going from now on.
    ///
    /// - Returns: Whether the user is online.
    public mutating func watch(_ user: UserAddress, by watcher: Watcher) -> Bool {
        users[user, default: User()].watchers.insert(watcher)
        return isOnline(user)
    }

    /// Tells a connection no more.
    public mutating func unwatch(_ user: UserAddress, by watcher: Watcher) {
        guard users[user]?.watchers.remove(watcher) != nil else { return }
        forgetNobody(user)
    }

    private mutating func forgetNobody(_ user: UserAddress) {
        if users[user]?.isNobody == true { users[user] = nil }
    }
}
