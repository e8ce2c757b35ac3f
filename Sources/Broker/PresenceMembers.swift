public import PusherProtocol

/// Who is on a presence channel: its members, and the connections of each.
///
/// All connections of a user are one member, whose info is what the first of them brought until the last has left.
/// Each step takes the same time however many members there are.
public struct PresenceMembers: Sendable {
    /// What a connection that wants to join is to the channel.
    public enum Arrival: Sendable {
        /// The first connection of its user: the others are to be told.
        case ofMember
        /// One more connection of a member.
        case ofConnection
        /// The channel has as many members as it may have, and this would be another.
        case refused
    }

    /// What a connection that leaves was to the channel.
    public enum Departure: Equatable, Sendable {
        /// The last connection of its user: the others are to be told.
        case ofMember(UserID)
        /// One of several connections of a member.
        case ofConnection
        /// It was not on the channel: it had been refused.
        case ofNobody
    }

    private struct Place {
        /// Where the member is in `members`.
        var index: Int
        var connectionCount: Int
    }

    /// The members, in no order that means anything.
    public private(set) var members: [Member] = []
    private var places: [UserID: Place] = [:]
    private var users: [SocketID: UserID] = [:]

    /// Makes the presence of a channel without members.
    public init() {}

    /// Whether nobody is on the channel.
    public var isEmpty: Bool { members.isEmpty }

    /// Enters a connection of a user.
    ///
    /// - Parameters:
    ///   - connection: The connection, which is not on the channel yet.
    ///   - member: Its user; of a user who is a member already, the id alone counts.
    ///   - membersMax: How many members the channel may have.
    /// - Returns: What has changed.
    public mutating func join(
        _ connection: SocketID,
        as member: Member,
        membersMax: Int
    ) -> Arrival {
        if let place = places[member.id] {
            places[member.id]?.connectionCount += 1
            enter(connection, of: members[place.index].id)
            return .ofConnection
        }
        guard members.count < membersMax else { return .refused }
        places[member.id] = Place(index: members.count, connectionCount: 1)
        members.append(member)
        enter(connection, of: member.id)
        return .ofMember
    }

    private mutating func enter(_ connection: SocketID, of user: UserID) {
        let former = users.updateValue(user, forKey: connection)
        precondition(former == nil, "a connection joined twice")
    }

    /// The user of a connection; `nil` when it is not on the channel.
    public func user(of connection: SocketID) -> UserID? { users[connection] }

    /// Strikes a connection off.
    public mutating func leave(_ connection: SocketID) -> Departure {
        guard let user = users.removeValue(forKey: connection), let place = places[user] else {
            return .ofNobody
        }
        guard place.connectionCount == 1 else {
            places[user]?.connectionCount -= 1
            return .ofConnection
        }
        places[user] = nil
        // The last member takes the place, so that nobody else has to move.
        let last = members.removeLast()
        if place.index < members.count {
            members[place.index] = last
            places[last.id]?.index = place.index
        }
        return .ofMember(user)
    }
}
