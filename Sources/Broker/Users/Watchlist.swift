import PusherProtocol

/// What one connection has been told of the users that it watches.
///
/// The homes of the users answer one after the other, each for its own. The connection is told when all have, and from
/// then on of each change. What a home says twice, or says of a user who is not watched any more, changes nothing.
struct Watchlist {
    private enum Presence: Equatable {
        /// The user's home has not answered yet.
        case awaited
        /// It has, but others have not.
        case heard(isOnline: Bool)
        /// The connection knows.
        case told(isOnline: Bool)
    }

    /// In the order of the list; there are few, so that they are found by a walk.
    private var entries: [(user: UserID, presence: Presence)] = []

    /// Whether nobody is watched.
    var isEmpty: Bool { entries.isEmpty }

    /// The users.
    var users: [UserID] { entries.map(\.user) }

    /// Watches these users and no others; what is known of those who stay is kept.
    ///
    /// - Parameter users: The users, each once.
    /// - Returns: Who is to be watched from now on, and who not any more.
    mutating func replace(with users: [UserID]) -> (added: [UserID], removed: [UserID]) {
        let old = Dictionary(entries.map { ($0.user, $0.presence) }) { first, _ in first }
        let new = Set(users)
        entries = users.map { ($0, old[$0] ?? .awaited) }
        return (
            users.filter { old[$0] == nil },
            old.isEmpty ? [] : old.keys.filter { !new.contains($0) }
        )
    }

    /// Takes in who is online and who is not, by the word of their home.
    ///
    /// - Returns: What the connection is to be told; `nil` for nothing, or nothing yet.
    mutating func learn(online: [UserID], offline: [UserID]) -> ServerMessage? {
        var (came, went): ([String], [String]) = ([], [])
        for (users, isOnline) in [(online, true), (offline, false)] {
            for user in users where note(user, isOnline) {
                if isOnline { came.append(user.text) } else { went.append(user.text) }
            }
        }
        if !entries.contains(where: { $0.presence == .awaited }) {
            for index in entries.indices {
                guard case .heard(let isOnline) = entries[index].presence else { continue }
                entries[index].presence = .told(isOnline: isOnline)
                let id = entries[index].user.text
                if isOnline { came.append(id) } else { went.append(id) }
            }
        }
        return came.isEmpty && went.isEmpty ? nil : .watchlist(online: came, offline: went)
    }

    /// Notes what a home says of a user, and returns whether the connection was told otherwise before.
    private mutating func note(_ user: UserID, _ isOnline: Bool) -> Bool {
        guard let index = entries.firstIndex(where: { $0.user == user }) else { return false }
        switch entries[index].presence {
        case .awaited, .heard:
            entries[index].presence = .heard(isOnline: isOnline)
            return false
        case .told(let wasOnline) where wasOnline == isOnline: return false
        case .told:
            entries[index].presence = .told(isOnline: isOnline)
            return true
        }
    }
}
