public import PusherProtocol

/// The subscribers of one channel, as the channel's home counts them: how many on which shard, and of a presence
/// channel who.
///
/// The home alone counts, and decides which shards an event goes to, so that each event has one place in the channel's
/// order. It holds no connections: those are each shard's own.
public struct SubscriberCounts: Sendable {
    /// Subscribed connections by shard, without the home's own and the shards that have none.
    private var countsElsewhere: [Int: Int] = [:]
    private var countAtHome = 0
    private let home: Int
    /// Who is on a presence channel; empty on any other.
    private var presence = PresenceMembers()

    /// Makes the attendance of a vacant channel.
    ///
    /// - Parameter home: The shard that counts.
    public init(home: Int) { self.home = home }

    /// The number of connections that are subscribed.
    public var count: Int { countsElsewhere.values.reduce(countAtHome, +) }

    /// Whether nobody is subscribed.
    public var isVacant: Bool { countAtHome == 0 && countsElsewhere.isEmpty }

    /// The shards that have subscribers, apart from the home.
    public var shardsElsewhere: [Int] { countsElsewhere.isEmpty ? [] : Array(countsElsewhere.keys) }

    /// The members of a presence channel; none on any other.
    public var members: [Member] { presence.members }

    /// The number of members of a presence channel; 0 of any other.
    public var memberCount: Int { presence.members.count }

    /// The user of a connection that is on a presence channel.
    public func user(of connection: SocketID) -> UserID? { presence.user(of: connection) }

    /// Counts one more connection of `shard`.
    public mutating func join(from shard: Int) {
        if shard == home {
            countAtHome += 1
        } else {
            countsElsewhere[shard, default: 0] += 1
        }
    }

    /// Counts one connection of `shard` less.
    public mutating func leave(from shard: Int) {
        let count = shard == home ? countAtHome : countsElsewhere[shard] ?? 0
        precondition(count > 0, "more unsubscribed than subscribed")
        if shard == home {
            countAtHome -= 1
        } else {
            countsElsewhere[shard] = count == 1 ? nil : count - 1
        }
    }

    /// Counts a connection of `shard` and enters it in the presence of a presence channel.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - shard: The shard of the connection.
    ///   - member: The user of the connection.
    ///   - membersMax: How many members the channel may have.
    /// - Returns: What it is to the channel; one that is refused does not count as a subscriber.
    public mutating func join(
        _ connection: SocketID,
        from shard: Int,
        as member: Member,
        membersMax: Int
    ) -> PresenceMembers.Arrival {
        let arrival = presence.join(connection, as: member, membersMax: membersMax)
        if arrival != .refused { join(from: shard) }
        return arrival
    }

    /// Takes a connection of `shard` out of the presence of a presence channel, if it was let in.
    public mutating func leave(_ connection: SocketID, from shard: Int) -> PresenceMembers.Departure
    {
        let departure = presence.leave(connection)
        if departure != .ofNobody { leave(from: shard) }
        return departure
    }
}
