/// The reference model of one client: what it has sent, and what it must receive.
///
/// The broker processes a client's messages in order, and answers most of them at once, so those answers are in order
/// too. A grant may arrive at any time. An unsubscription has no answer, so the client sends a ping after it: after the
/// pong, nothing of the channel may arrive.
final class ClientModel {
    /// An expected answer; expectations are met in order.
    enum Expectation {
        case pong
        case pongFrame
        /// Marks the last message of a subscription.
        case fence(SubscriptionModel)
        case error(code: Int?)
        case subscriptionError(channel: String, type: String)
        /// From here on the client receives the presence of these users, and of no others.
        case signedIn(String, watching: [Int])
        /// The cancelled subscription may have been refused before.
        case optionalNotSubscribed
        /// A fault is answered until the broker closes the connection.
        case optionalFault
        /// A client event is answered by an error, or accepted without an answer.
        case clientEvent(Publication)

        /// The violated invariant if something else arrives.
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
    let transport: SimulatedClient
    unowned let world: World
    let connectedAt: Int

    var socketID: String?
    var expectations: [Expectation] = []
    /// The subscriptions that were requested and are not known to have ended, by channel, in order.
    var subscriptions: [Int: [SubscriptionModel]] = [:]
    /// The user that the client is signed in as, once the broker has processed all its messages.
    var user: Int?
    var signInMark = 0
    /// The watched users, and the presence that the client has received for them.
    var watched: Set<Int> = []
    var presences: [Int: Bool] = [:]
    /// The time of `connection_established`, and whether the client has sent a valid signature since.
    var establishedAt: Int?
    var isAuthorized = false
    /// The time at which the broker could last read from the client.
    private(set) var lastActivityAt: Int
    private var longestSilence = 0
    /// The client's last accepted event, by channel.
    var lastEvent: [Int: Int] = [:]
    /// The client events accepted since the last settlement.
    var events: [Publication] = []

    // The end of the connection.
    var isStalled = false
    var wasStalled = false
    var isMute = false
    /// Whether the client has disconnected, or sent a close frame.
    var hasLeft = false
    /// The close codes of which one must follow what the client has sent.
    var dueCodes: Set<Int>?
    /// Whether a terminating request has certainly, or possibly, closed the connection.
    var isTerminated = false
    var mayBeTerminated = false
    var closingError: Int?
    var closeCode: Int?
    var isGone = false
    /// Whether the `pusher:error` after a late refusal comes next.
    var awaitsRefusalError = false
    /// The bytes of events that may be queued for the client.
    var pendingBytes = 0
    /// Whether the socket buffer is so large that the client counts as fast.
    var hasLargeBuffer = false

    init(
        number: Int,
        place: Int,
        app: Int,
        shard: Int,
        transport: SimulatedClient,
        world: World
    ) {
        self.number = number
        self.place = place
        self.app = app
        self.shard = shard
        self.transport = transport
        self.world = world
        connectedAt = world.now
        lastActivityAt = world.now
    }

    /// Whether the connection is open, as far as the client knows.
    var isAlive: Bool {
        socketID != nil && !hasLeft && closingError == nil && closeCode == nil && !isGone
            && dueCodes == nil
    }

    /// Records that the broker can read something.
    func recordActivity() {
        longestSilence = max(longestSilence, silence)
        lastActivityAt = world.now
    }

    /// The longest silence, in seconds: a close may be read late.
    var silenceMax: Int { max(longestSilence, silence) }

    /// The seconds since the broker could last read something.
    var silence: Int { (world.now - lastActivityAt) / 1_000 }

    var rules: Rules { world.rules[app] }
    var name: String { "client \(place) (connection \(number))" }

    /// The current subscription to a channel, granted or requested; `nil` after its cancellation.
    func currentSubscription(_ channel: Int) -> SubscriptionModel? {
        subscriptions[channel]?.last { !$0.isLeaving && !$0.isOver }
    }

    var currentSubscriptions: [SubscriptionModel] {
        subscriptions.values.joined().filter { !$0.isLeaving && !$0.isOver }
    }

    var mask: UInt32 { UInt32(truncatingIfNeeded: (number &+ 1) &* 0x0137_FA21) | 1 }
}
