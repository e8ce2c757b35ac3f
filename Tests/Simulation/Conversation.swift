/// One client's conversation with the broker, as the reference model has it: what was said, and what has to come of it.
///
/// The broker takes in what a client says in order, and answers most of it at once: so those answers come in that order
/// too. A grant comes when it comes. An unsubscription is not answered, so a ping follows it: nothing of the channel may
/// come behind the pong.
final class Conversation {
    /// An answer that has to come, before those behind it.
    enum Debt {
        case pong
        case pongFrame
        /// What comes before this may be of the subscription, what comes behind it may not.
        case fence(Tenure)
        case error(code: Int?)
        case subscriptionError(channel: String, type: String)
        /// From here on the client is told of these users, and of no others.
        case signedIn(String, watching: [Int])
        /// The subscription that was given up may have been refused before.
        case perhapsNotSubscribed
        /// A fault is answered as long as the broker bears it.
        case perhapsFault
        /// A client event is refused by an error, or accepted by none.
        case fate(Publication)

        /// What is broken when something else comes.
        var invariant: Invariant {
            switch self {
            case .subscriptionError(_, type: "LimitReached"): .limits
            case .subscriptionError(_, type: "AuthError"), .error(code: 4009): .authorisation
            default: .answers
            }
        }
    }

    let number: Int
    let place: Int
    let app: Int
    let shard: Int
    let client: SimulatedClient
    unowned let world: World
    let connectedAt: Int

    var socketID: String?
    var debts: [Debt] = []
    /// The subscriptions that were asked for and are not known to be over, by channel, in order.
    var tenures: [Int: [Tenure]] = [:]
    /// Who the client is signed in as, when the broker has heard all that was said.
    var user: Int?
    var signInMark = 0
    /// Whom the client watches, and what it was told of them.
    var watched: Set<Int> = []
    var presences: [Int: Bool] = [:]
    /// When the client was established, and whether it has proved since that its app's backend knows it.
    var establishedAt: Int?
    var hasProved = false
    /// Whether the proof has been accepted, as far as the client knows.
    private(set) var lastSpokeAt: Int
    private var longestSilence = 0
    /// The events of this client by channel, the last accepted one.
    var lastEvent: [Int: Int] = [:]
    /// Those that were accepted since the last settlement.
    var events: [Publication] = []

    // How it ends.
    var isStalled = false
    var wasStalled = false
    var isMute = false
    /// Whether the client has gone, or said that it will.
    var hasLeft = false
    /// The codes of which one must close the connection, because of what was said.
    var dueCodes: Set<Int>?
    /// Whether an operator or a backend has ordered the end; and whether it may be that it has.
    var isTerminated = false
    var mayBeTerminated = false
    var farewell: Int?
    var closeCode: Int?
    var isGone = false
    /// Whether the error that belongs to a late refusal comes next.
    var owesRefusal = false
    /// Bytes of events that may wait for the client.
    var owedBytes = 0
    /// Whether the kernel has much room for the client, so that it is no slower than others.
    var takesMuch = false

    init(
        number: Int,
        place: Int,
        app: Int,
        shard: Int,
        client: SimulatedClient,
        world: World
    ) {
        self.number = number
        self.place = place
        self.app = app
        self.shard = shard
        self.client = client
        self.world = world
        connectedAt = world.now
        lastSpokeAt = world.now
    }

    /// Whether the connection stands, as far as the client knows.
    var isAlive: Bool {
        socketID != nil && !hasLeft && farewell == nil && closeCode == nil && !isGone
            && dueCodes == nil
    }

    /// Notes that the broker can hear something.
    func speak() {
        longestSilence = max(longestSilence, silence)
        lastSpokeAt = world.now
    }

    /// For how many seconds the broker has heard nothing, when it heard nothing for longest: a close may be read late.
    var silenceMax: Int { max(longestSilence, silence) }

    /// For how many seconds the broker has heard nothing.
    var silence: Int { (world.now - lastSpokeAt) / 1_000 }

    var rules: Rules { world.rules[app] }
    var name: String { "client \(place) (connection \(number))" }

    /// The subscription that stands or was asked for last, if it was not given up.
    func currentTenure(_ channel: Int) -> Tenure? {
        tenures[channel]?.last { !$0.isLeaving && !$0.isOver }
    }

    var currentTenures: [Tenure] {
        tenures.values.joined().filter { !$0.isLeaving && !$0.isOver }
    }

    var mask: UInt32 { UInt32(truncatingIfNeeded: (number &+ 1) &* 0x0137_FA21) | 1 }
}
