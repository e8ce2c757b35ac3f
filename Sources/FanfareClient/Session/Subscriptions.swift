/// One channel that an app wants to hear.
struct Subscription {
    /// How far a subscription has got.
    enum State: Equatable {
        /// Asked for by the app, not yet of the broker: there is no connection.
        case wanted
        /// The app's backend has been asked, by the request of this number.
        case authorizing(Int)
        /// Waits until the user is signed in.
        case awaitingUser
        /// The broker has been asked.
        case pending
        /// The broker has agreed.
        case subscribed
        /// The broker or the backend has refused; they are asked again with the next connection.
        case refused
        /// Given up while pending. Brokers may refuse to end what has not begun, so the answer
        /// is waited for.
        case leaving
    }

    fileprivate(set) var state: State
    fileprivate let ordinal: Int
    /// What the app has given to be let in with, for one connection.
    var token: InlineToken?
    /// What lets the client in, while that waits for the user.
    var authorization: ChannelAuthorization?
    /// Why the channel is refused.
    var refusal: FanfareError?
    /// How many connections are subscribed, where the broker tells.
    var count: Int?
    /// Who is there, on a presence channel whose members were told once.
    var roster: PresenceRoster?
    /// The user who this client is on a presence channel, as the backend has signed.
    var memberID: String?
    /// The key of an encrypted channel, and what waits for another.
    var seal = ChannelDecryption()

    fileprivate init(state: State, ordinal: Int) {
        self.state = state
        self.ordinal = ordinal
    }
}

/// A signature that an app has given together with a subscription.
struct InlineToken: Equatable {
    var authorization: ChannelAuthorization
    /// The connection that it was given on; `nil` when there was none.
    var socketID: String?
}

/// The channels that an app wants to hear, and how far each has got.
struct Subscriptions {
    private var subscriptions: [String: Subscription] = [:]
    private var nextOrdinal = 0

    /// How far the subscription to a channel has got; `nil` when nobody asked for it.
    subscript(channel: String) -> Subscription.State? {
        get { subscriptions[channel]?.state }
        set {
            guard let newValue else {
                subscriptions[channel] = nil
                return
            }
            if subscriptions[channel] != nil {
                subscriptions[channel]?.state = newValue
            } else {
                subscriptions[channel] = Subscription(state: newValue, ordinal: nextOrdinal)
                nextOrdinal += 1
            }
        }
    }

    /// All that is known of a subscription.
    subscript(of channel: String) -> Subscription? {
        get { subscriptions[channel] }
        _modify { yield &subscriptions[channel] }
    }

    /// The channels, in the order in which the app asked for them.
    var channels: [String] {
        subscriptions.sorted { $0.value.ordinal < $1.value.ordinal }.map(\.key)
    }

    /// Loses the connection: all that is not given up is wanted again.
    mutating func end() {
        subscriptions = subscriptions.filter { $0.value.state != .leaving }
        for channel in subscriptions.keys {
            subscriptions[channel]?.state = .wanted
            subscriptions[channel]?.authorization = nil
            subscriptions[channel]?.refusal = nil
            subscriptions[channel]?.count = nil
            subscriptions[channel]?.seal.ticket = nil
        }
    }

    /// Forgets who is where: nothing will be told of it any more.
    mutating func forgetMembers() {
        for channel in subscriptions.keys { subscriptions[channel]?.roster = nil }
    }
}
