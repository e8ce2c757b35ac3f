/// A place in a channel's order, as a number that is the same for everybody who sees it.
struct Token: Hashable {
    private let number: Int

    private init(_ number: Int) { self.number = number }

    static func event(_ id: Int) -> Token { Token(id * 3) }
    /// Somebody's first connection has come, with this number in what is told of them.
    static func arrival(_ mark: Int) -> Token { Token(mark * 3 + 1) }
    static func departure(_ mark: Int) -> Token { Token(mark * 3 + 2) }

    /// The event, if it is one.
    var event: Int? { number % 3 == 0 ? number / 3 : nil }

    var text: String {
        switch number % 3 {
        case 0: "event \(number / 3)"
        case 1: "arrival of member \(number / 3)"
        default: "departure of member \(number / 3)"
        }
    }
}

/// An event that somebody has published.
final class Publication {
    /// How far it is known what has become of it.
    enum Fate { case open, accepted, refused }

    let id: Int
    let app: Int
    let channels: [Int]
    let name: String
    let data: String
    /// The step in which it was asked for; it took its place in the order no earlier.
    let step: Int
    let time: Int
    var fate = Fate.open
    /// When everything had arrived for the first time since.
    var settledAt: Int?
    /// The client that sent it, as a member of this number if it did so on a presence channel.
    var sender: (conversation: Conversation, user: Int?)?
    /// The connection that a backend has left out.
    var leavesOut: String?
    /// Whether anybody has received it.
    var wasSeen = false

    init(id: Int, app: Int, channels: [Int], name: String, length: Int, step: Int, time: Int) {
        self.id = id
        self.app = app
        self.channels = channels
        self.name = name
        data = "\(id):" + String(repeating: "abcdefgh", count: length / 8)
        self.step = step
        self.time = time
    }

    /// Whether a client does not get it although it is subscribed.
    func isNot(for conversation: Conversation) -> Bool {
        sender?.conversation === conversation
            || leavesOut != nil && leavesOut == conversation.socketID
    }
}

/// A channel of an app, and what is known of it from outside.
final class Room {
    let app: Int
    let channel: CastChannel
    /// The subscriptions since the last settlement, those that ended in between included.
    var tenures: [Tenure] = []
    /// Pairs of events of which the first was published first, certainly.
    var pairs: [(earlier: Int, later: Int)] = []
    /// The events of which one is the last that a backend has triggered.
    var lastEvents: [Publication] = []
    /// Events that are not settled, in the order in which they were asked for.
    var open: [Publication] = []

    init(app: Int, channel: CastChannel) {
        self.app = app
        self.channel = channel
    }

    /// Lets go of what refers to the room.
    func clear() {
        tenures = []
        lastEvents = []
        open = []
    }

    /// The subscriptions that stand.
    var standing: [Tenure] { tenures.filter(\.stands) }

    var name: String { "\(channel.name) of app \(Cast.appIDs[app])" }
}

/// One subscription of one client, from the asking to the end.
final class Tenure {
    let room: Room
    let conversation: Conversation
    /// When it was asked for.
    let askedAt: Int
    /// As whom, on a presence channel; and the number in what is told of them.
    let member: (user: Int, mark: Int)?
    /// The step in which the client has read that it is granted.
    var grantedAt: Int?
    var isLeaving = false
    var isOver = false
    var wasRefused = false

    /// What came, in order, since the last settlement.
    var tokens: [Token] = []
    /// Everything that ever came.
    var seen: Set<Token> = []
    /// The members, with the number in what is told of each.
    var members: [Int: Int] = [:]
    var lastCount: Int?
    /// Whether the event of a cache channel must come next.
    var awaitsOpening = false
    /// What came ahead of all live events.
    var opening: Publication?

    init(
        room: Room,
        conversation: Conversation,
        askedAt: Int,
        member: (user: Int, mark: Int)?
    ) {
        self.room = room
        self.conversation = conversation
        self.askedAt = askedAt
        self.member = member
    }

    /// Whether the client counts as a subscriber, when everything has arrived.
    var stands: Bool { grantedAt != nil && !isLeaving && !isOver && conversation.isAlive }
}
