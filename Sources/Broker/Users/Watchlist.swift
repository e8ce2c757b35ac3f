import PusherProtocol

/// The users that one connection watches, and the state of each that the connection knows.
///
/// The home of each user answers separately. The connection receives one message when all have answered, and then one
/// for each change. Repeated states, and states of users that are no longer watched, are ignored.
struct Watchlist {
    private enum Presence: Equatable {
        /// The user's home has not answered yet.
        case awaited
        /// The home has answered, others have not.
        case known(isOnline: Bool)
        /// The connection has received the state.
        case sent(isOnline: Bool)
    }

    /// In the order of the list; short enough for a linear search.
    private var entries: [(user: UserID, presence: Presence)] = []

    /// Whether no user is watched.
    var isEmpty: Bool { entries.isEmpty }

    /// The users.
    var users: [UserID] { entries.map(\.user) }

    /// Replaces the users, each given once, and keeps known states.
    ///
    /// - Returns: The users to watch, and those to unwatch.
    mutating func replace(with users: [UserID]) -> (added: [UserID], removed: [UserID]) {
        let old = Dictionary(entries.map { ($0.user, $0.presence) }) { first, _ in first }
        let new = Set(users)
        entries = users.map { ($0, old[$0] ?? .awaited) }
        return (
            users.filter { old[$0] == nil },
            old.isEmpty ? [] : old.keys.filter { !new.contains($0) }
        )
    }

    /// Updates the states of users, as reported by their home, and returns the message to the connection.
    ///
    /// `nil` for none, or none yet.
    mutating func update(online: [UserID], offline: [UserID]) -> ServerMessage? {
        var (arrived, left): ([String], [String]) = ([], [])
        for (users, isOnline) in [(online, true), (offline, false)] {
            for user in users where update(user, isOnline) {
                if isOnline { arrived.append(user.text) } else { left.append(user.text) }
            }
        }
        if !entries.contains(where: { $0.presence == .awaited }) {
            for index in entries.indices {
                guard case .known(let isOnline) = entries[index].presence else { continue }
                entries[index].presence = .sent(isOnline: isOnline)
                let id = entries[index].user.text
                if isOnline { arrived.append(id) } else { left.append(id) }
            }
        }
        return arrived.isEmpty && left.isEmpty ? nil : .watchlist(online: arrived, offline: left)
    }

    /// Updates the state of a user, and returns whether the connection has received the opposite.
    private mutating func update(_ user: UserID, _ isOnline: Bool) -> Bool {
        guard let index = entries.firstIndex(where: { $0.user == user }) else { return false }
        switch entries[index].presence {
        case .awaited, .known:
            entries[index].presence = .known(isOnline: isOnline)
            return false
        case .sent(let wasOnline) where wasOnline == isOnline: return false
        case .sent:
            entries[index].presence = .sent(isOnline: isOnline)
            return true
        }
    }
}
