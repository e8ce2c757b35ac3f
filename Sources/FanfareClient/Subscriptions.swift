/// The channels that an app wants to hear, and how far each has got.
struct Subscriptions {
    /// How far a subscription has got.
    enum State: Equatable {
        /// Asked for by the app, not yet of the broker: there is no connection.
        case wanted
        /// The broker has been asked.
        case pending
        /// The broker has agreed.
        case subscribed
        /// The broker has refused; it is asked again with the next connection.
        case refused
        /// Given up while pending. Brokers may refuse to end what has not begun, so the answer
        /// is waited for.
        case leaving
    }

    private var states: [String: (state: State, ordinal: Int)] = [:]
    private var nextOrdinal = 0

    /// How far the subscription to a channel has got; `nil` when nobody asked for it.
    subscript(channel: String) -> State? {
        get { states[channel]?.state }
        set {
            guard let newValue else {
                states[channel] = nil
                return
            }
            if states[channel] != nil {
                states[channel]?.state = newValue
            } else {
                states[channel] = (newValue, nextOrdinal)
                nextOrdinal += 1
            }
        }
    }

    /// Takes up a connection: all that is wanted becomes pending.
    ///
    /// - Returns: The channels to ask for, in the order in which the app did.
    mutating func begin() -> [String] {
        let channels = states.sorted { $0.value.ordinal < $1.value.ordinal }.map(\.key)
        for channel in channels { states[channel]?.state = .pending }
        return channels
    }

    /// Loses the connection: all that is not given up is wanted again.
    mutating func end() {
        states = states.filter { $0.value.state != .leaving }
        for channel in states.keys { states[channel]?.state = .wanted }
    }
}
