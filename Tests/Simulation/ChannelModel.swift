import PusherProtocol

/// An item of a channel's order, as a number that is the same for all subscribers.
struct Token: Hashable {
    private let number: Int

    private init(_ number: Int) { self.number = number }

    static func event(_ id: Int) -> Token { Token(id * 3) }
    /// The first connection of a user has joined, with this mark in its `user_info`.
    static func arrival(_ mark: Int) -> Token { Token(mark * 3 + 1) }
    static func departure(_ mark: Int) -> Token { Token(mark * 3 + 2) }

    /// The ID of the event, if it is one.
    var event: Int? { number % 3 == 0 ? number / 3 : nil }

    var text: String {
        switch number % 3 {
        case 0: "event \(number / 3)"
        case 1: "arrival of member \(number / 3)"
        default: "departure of member \(number / 3)"
        }
    }
}

/// A published event.
final class Publication {
    /// Whether the event is known to be accepted or refused.
    enum Status { case open, accepted, refused }

    let id: Int
    let app: Int
    let channels: [Int]
    let name: String
    let data: String
    /// The step of its request; its sequencing was not earlier.
    let step: Int
    let time: Int
    var status = Status.open
    /// The time of the first settlement after it.
    var settledAt: Int?
    /// The client that sent it, with its user on a presence channel.
    var sender: (client: ClientModel, user: Int?)?
    /// The socket ID that the backend excluded.
    var excludedSocketID: String?
    /// Whether a client has received it.
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

    /// Whether a subscribed client must not receive it.
    func excludes(_ client: ClientModel) -> Bool {
        sender?.client === client
            || excludedSocketID != nil && excludedSocketID == client.socketID
    }
}

/// The reference model of a channel.
final class ChannelModel {
    let app: Int
    let channel: ChannelProperties
    /// The subscriptions since the last settlement, including those that have ended.
    var subscriptions: [SubscriptionModel] = []
    /// Pairs of events whose order is certain.
    var pairs: [(earlier: Int, later: Int)] = []
    /// The candidates for the cached event.
    var lastEvents: [Publication] = []
    /// Events that are not settled, in the order of their requests.
    var open: [Publication] = []
    /// All events ever, in the order of their requests.
    var published: [Publication] = []
    /// The IDs of the channel's streams that clients have got: one, and another one for each purge.
    var streams: Set<StreamID> = []
    /// The number of purges that backends have requested.
    var purgeCount = 0
    /// The event of each number, and the number of each event.
    var numbers: [ChannelPosition: Int] = [:]
    var serials: [Int: ChannelPosition] = [:]

    init(app: Int, channel: ChannelProperties) {
        self.app = app
        self.channel = channel
    }

    /// Releases references, to break cycles.
    func clear() {
        subscriptions = []
        lastEvents = []
        open = []
        published = []
    }

    /// The active subscriptions.
    var standing: [SubscriptionModel] { subscriptions.filter(\.stands) }

    var name: String { "\(channel.name) of app \(Scenario.appIDs[app])" }
}

/// One subscription of one client, from request to end.
final class SubscriptionModel {
    let model: ChannelModel
    let client: ClientModel
    /// The time of the request.
    let askedAt: Int
    /// The user on a presence channel, with the mark in its `user_info`.
    let member: (user: Int, mark: Int)?
    /// The step in which the client has read the grant.
    var grantedAt: Int?
    var isLeaving = false
    var isOver = false
    var wasRefused = false

    /// The items received since the last settlement, in order.
    var tokens: [Token] = []
    /// All items ever received.
    var seen: Set<Token> = []
    /// The members, with the mark of each.
    var members: [Int: Int] = [:]
    var lastCount: Int?
    /// Whether the cached event, or the miss, must come next.
    var awaitsOpening = false
    /// The cached event with which the subscription began.
    var opening: Publication?
    /// The device's position; `nil` if it does not track the channel.
    let tracked: TrackedPart?
    /// Whether it goes on behind the device's position, and so without the cached event.
    var goesOn = false
    /// The earlier messages that it began with, if it tracks nothing; `nil` on channels that begin with none.
    var earlier: EarlierMessages?
    /// The events of ``earlier`` that may have come ahead of the subscription.
    var first: Set<Int> = []
    /// Whether ``first`` was compared with what was published.
    var isOpeningChecked = false

    init(
        model: ChannelModel,
        client: ClientModel,
        askedAt: Int,
        member: (user: Int, mark: Int)?,
        tracked: TrackedPart?
    ) {
        self.tracked = tracked
        if tracked == nil, model.channel.opens { earlier = EarlierMessages() }
        self.model = model
        self.client = client
        self.askedAt = askedAt
        self.member = member
    }

    /// Whether the subscription is active once everything is delivered.
    var stands: Bool { grantedAt != nil && !isLeaving && !isOver && client.isAlive }
}
