public import PusherProtocol

/// The members of a presence channel, and the connections of each.
///
/// All connections of a user are one member. The member's info is that of the user's first connection, until the last
/// one has left. A member may stay for a while without a connection, since most reload a page. Every operation takes
/// constant time.
public struct PresenceMembers: Sendable {
    /// The result of adding a connection.
    public enum Arrival: Equatable, Sendable {
        /// The first connection of its user.
        case newMember
        /// Another connection of a member.
        case knownMember
        /// The first connection of a departing member, whose info it replaces if it `isChanged`.
        case returned(isChanged: Bool)
        /// The channel has reached its maximum number of members, and this user is not one of them.
        case refused
    }

    /// The result of removing a connection.
    public enum Departure: Equatable, Sendable {
        /// The last connection of this user, who may stay a member for now.
        case memberLeft(UserID)
        /// One of several connections of a member.
        case memberStays
        /// The connection was not on the channel, because its subscription was refused.
        case unknown
    }

    private struct Entry {
        /// The member's index in `members`.
        var index: Int
        /// The number of connections; 0 for a departing member.
        var connectionCount: Int
    }

    /// The members, in no particular order, including departing ones.
    public private(set) var members: [Member] = []
    private var entries: [UserID: Entry] = [:]
    private var users: [SocketID: UserID] = [:]

    /// Creates an empty list.
    public init() {}

    /// Whether the channel has no members.
    public var isEmpty: Bool { members.isEmpty }

    /// Adds a connection that is not on the channel; if its user has another one, the info is ignored.
    public mutating func add(
        _ connection: SocketID,
        as member: Member,
        membersMax: Int
    ) -> Arrival {
        if let entry = entries[member.id] {
            entries[member.id]?.connectionCount += 1
            record(connection, of: members[entry.index].id)
            guard entry.connectionCount == 0 else { return .knownMember }
            let isChanged = members[entry.index].info != member.info
            if isChanged { members[entry.index] = member }
            return .returned(isChanged: isChanged)
        }
        guard members.count < membersMax else { return .refused }
        entries[member.id] = Entry(index: members.count, connectionCount: 1)
        members.append(member)
        record(connection, of: member.id)
        return .newMember
    }

    private mutating func record(_ connection: SocketID, of user: UserID) {
        let former = users.updateValue(user, forKey: connection)
        precondition(former == nil, "a connection joined twice")
    }

    /// Whether a user is a member.
    public func contains(_ user: UserID) -> Bool { entries[user] != nil }

    /// The user of a connection; `nil` if the connection is not on the channel.
    public func user(of connection: SocketID) -> UserID? { users[connection] }

    /// Removes a connection; `staysMember` is whether the user of the last one departs later.
    public mutating func remove(_ connection: SocketID, staysMember: Bool = false) -> Departure {
        guard let user = users.removeValue(forKey: connection), let entry = entries[user] else {
            return .unknown
        }
        guard entry.connectionCount == 1 else {
            entries[user]?.connectionCount -= 1
            return .memberStays
        }
        if staysMember { entries[user]?.connectionCount = 0 } else { remove(user, entry) }
        return .memberLeft(user)
    }

    /// Removes a member without a connection, and returns whether the user was one.
    public mutating func removeDeparting(_ user: UserID) -> Bool {
        guard let entry = entries[user], entry.connectionCount == 0 else { return false }
        remove(user, entry)
        return true
    }

    private mutating func remove(_ user: UserID, _ entry: Entry) {
        entries[user] = nil
        // The last member fills the gap, so that no other index changes.
        let last = members.removeLast()
        if entry.index < members.count {
            members[entry.index] = last
            entries[last.id]?.index = entry.index
        }
    }
}
