/// Which of the users on the signed-in user's watchlist are there, as far as the broker has told.
public struct Watchlist: Sendable, Hashable {
    /// Those with a connection.
    public private(set) var online: Set<String> = []
    /// Those without one.
    public private(set) var offline: Set<String> = []

    /// Knows of nobody.
    init() {}

    /// Takes what the broker tells.
    ///
    /// - Returns: What has changed; `nil` when nothing has.
    mutating func take(online came: [String], offline went: [String], usersMax: Int)
        -> WatchlistChange?
    {
        var (newlyOnline, newlyOffline): ([String], [String]) = ([], [])
        for user in came where !online.contains(user) {
            let isKnown = offline.remove(user) != nil
            guard isKnown || online.count + offline.count < usersMax else { continue }
            online.insert(user)
            newlyOnline.append(user)
        }
        for user in went where !offline.contains(user) {
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
    /// All that is known, with this change.
    public let watchlist: Watchlist
    /// Who is online now and was not, or not known to be.
    public let online: [String]
    /// Who is offline now and was not, or not known to be.
    public let offline: [String]
}
