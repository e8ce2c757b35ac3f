/// The users on the signed-in user's watchlist whose state the broker has reported.
public struct Watchlist: Sendable, Hashable {
    /// The users with a connection.
    public private(set) var online: Set<String> = []
    /// The users without a connection.
    public private(set) var offline: Set<String> = []

    /// Creates an empty watchlist.
    init() {}

    /// Applies a message of the broker and returns the change; `nil` if there is none.
    mutating func update(
        online reportedOnline: [String],
        offline reportedOffline: [String],
        usersMax: Int
    ) -> WatchlistChange? {
        var (newlyOnline, newlyOffline): ([String], [String]) = ([], [])
        for user in reportedOnline where !online.contains(user) {
            let isKnown = offline.remove(user) != nil
            guard isKnown || online.count + offline.count < usersMax else { continue }
            online.insert(user)
            newlyOnline.append(user)
        }
        for user in reportedOffline where !offline.contains(user) {
            let isKnown = online.remove(user) != nil
            guard isKnown || online.count + offline.count < usersMax else { continue }
            offline.insert(user)
            newlyOffline.append(user)
        }
        guard !newlyOnline.isEmpty || !newlyOffline.isEmpty else { return nil }
        return WatchlistChange(watchlist: self, online: newlyOnline, offline: newlyOffline)
    }
}

/// A change of a watchlist.
public struct WatchlistChange: Sendable, Hashable {
    /// The watchlist after this change.
    public let watchlist: Watchlist
    /// The users who came online, or are first reported as online.
    public let online: [String]
    /// The users who went offline, or are first reported as offline.
    public let offline: [String]

    /// The approximate memory of a waiting change, in bytes.
    var byteCount: Int { 64 + (watchlist.online.count + watchlist.offline.count) * 32 }
}
