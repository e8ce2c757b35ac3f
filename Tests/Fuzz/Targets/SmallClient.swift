import Broker
import PusherProtocol

/// A connection of the small broker: its session, and what the client at its other end knows.
///
/// Everything that reaches the client is held against what it knew before: nothing twice, nothing out of order.
struct SmallClient {
    /// What the client has seen of a channel that it is seated in.
    struct Seat {
        /// The number of the last event on the channel that it saw, or that it was left out of.
        var last: Int
        var members: Set<UserID>
    }

    var session: Session
    let shard: Int
    /// The channels that the session has asked for and not given up, by its effects.
    var asked: Set<ChannelName> = []
    private(set) var seats: [ChannelName: Seat] = [:]
    /// Who was last said to be there, or not.
    private(set) var told: [UserID: Bool] = [:]
    var watched: Set<UserID> = []

    init(session: Session, shard: Int) {
        self.session = session
        self.shard = shard
    }

    var socketID: SocketID { session.socketID }

    /// Takes the client out of a channel.
    mutating func unseat(from channel: ChannelName) { seats[channel] = nil }

    /// Takes in the home's grant, unless the session does not wait for it any more.
    mutating func take(
        _ grant: SmallHome.Grant,
        on channel: ChannelName,
        request: UInt32
    ) throws(Finding) {
        guard session.granted(channel, request: request) else { return }
        try expect(seats[channel] == nil, "\(channel) was granted twice")
        try expect(asked.contains(channel), "\(channel) was granted, but not asked for")
        let members = Set(grant.members.map(\.id))
        try expect(members.count == grant.members.count, "a member twice on \(channel)")
        seats[channel] = Seat(last: grant.sequence, members: members)
    }

    /// Takes in an event of a channel.
    mutating func hear(_ event: SmallHome.Event, on channel: ChannelName) throws(Finding) {
        guard var seat = seats[channel] else { return }
        try expectEqual(event.sequence, seat.last + 1, "the next event of \(channel)")
        seat.last = event.sequence
        switch event.kind {
        case .message: break
        case .added(let user):
            try expect(seat.members.insert(user).inserted, "\(user) has come to \(channel) twice")
        case .removed(let user):
            try expect(seat.members.remove(user) != nil, "\(user) has left \(channel) twice")
        }
        seats[channel] = seat
    }

    /// Takes in whether a user is there, by the word of the user's home.
    mutating func learn(_ user: UserID, isOnline: Bool) throws(Finding) {
        let message = session.updatePresence(
            online: isOnline ? [user] : [],
            offline: isOnline ? [] : [user]
        )
        guard case .watchlist(let online, let offline)? = message else { return }
        for (ids, isOnline) in [(online, true), (offline, false)] {
            for id in ids.map({ UserID($0) }) {
                try expect(watched.contains(id), "\(id) is not watched")
                try expect(told[id] != isOnline, "\(id) is told twice to be \(isOnline)")
                told[id] = isOnline
            }
        }
    }

    /// Takes in that users are not watched any more.
    mutating func forget(_ users: [UserID]) {
        for user in users {
            watched.remove(user)
            told[user] = nil
        }
    }

    /// Checks that the session knows of the channels that it has asked for, and of no others.
    func checkSubscriptions(max: Int) throws(Finding) {
        var channels: Set<ChannelName> = []
        session.subscriptions.forEachChannel { channels.insert($0) }
        try expectEqual(channels, asked, "the channels of \(socketID)")
        try expect(channels.count <= max, "\(channels.count) subscriptions")
        try expect(Set(seats.keys).isSubset(of: asked), "\(socketID) is seated uninvited")
    }
}
