/// The subscription to one channel.
struct Subscription {
    /// The state of a subscription.
    enum State: Equatable {
        /// Requested by the app, not yet sent: there is no connection.
        case wanted
        /// The request to the app's backend is in flight, with this ticket.
        case authorizing(Int)
        /// Waiting for the sign-in.
        case awaitingUser
        /// Sent to the broker.
        case pending
        /// Confirmed by the broker.
        case subscribed
        /// Refused by the broker or the backend; tried again on the next connection.
        case refused
        /// Failed temporarily, because the backend or the broker is overloaded or unreachable; tried again after a
        /// delay.
        case postponed
        /// Cancelled while pending.
        ///
        /// A broker may refuse to end a subscription before it has confirmed it, so the client waits for the answer.
        case leaving
    }

    fileprivate(set) var state: State
    fileprivate var ordinal: Int
    /// The signature from the app or its backend.
    var signature: ConnectionSignature?
    /// The authorisation, while the subscription waits for the sign-in.
    var authorization: ChannelAuthorization?
    /// The reason for a refusal.
    var refusal: FanfareError?
    /// The number of consecutive attempts that failed temporarily.
    var failures = 0
    /// Whether the broker has confirmed the subscription before, on this connection or an earlier one.
    var wasConfirmed = false
    /// The position in the channel's stream.
    var tracking = ChannelTracking()
    /// Whether messages of the stream are held back, because a reader is too far behind.
    private(set) var isHeldBack = false
    /// Whether a message was held back.
    private var hasMissed = false
    /// Whether a stored position must not be used, because the app has asked to begin anew.
    var isFresh = false
    /// The start of the next subscription, once the cancelled one before it is answered.
    var nextTracking: ChannelTracking?
    /// The starts of later leases, until the broker has confirmed the position of the channel.
    private var waitingStarts: [LeaseStart] = []
    /// The number of subscribed connections, if the broker reports it.
    var count: Int?
    /// The members of a presence channel, once received.
    var roster: PresenceRoster?
    /// The ID of this client's member on a presence channel, as signed by the backend.
    var memberID: String?
    /// The key of an encrypted channel, and the events that wait for a new key.
    var decryption = ChannelDecryption()

    fileprivate init(state: State, ordinal: Int) {
        self.state = state
        self.ordinal = ordinal
    }

    /// The requests in flight to the app's backend.
    var tickets: [Int] {
        let joining: Int? = if case .authorizing(let ticket) = state { ticket } else { nil }
        return [joining, decryption.ticket].compactMap(\.self)
    }

    /// Handles the number of a message; `nil` for one that is not part of the stream.
    mutating func receive(_ serial: UInt64?) -> ChannelTracking.Verdict {
        guard let serial else {
            tracking.receivedEventWithoutNumber()
            return .next(nil)
        }
        switch state {
        case .subscribed where isHeldBack && tracking.position != nil:
            hasMissed = true
            return .known
        case .subscribed: return tracking.receive(serial)
        // After a hole: the message belongs to the previous subscription and will be replayed.
        case .pending: return .known
        case .wanted, .authorizing, .awaitingUser, .refused, .postponed, .leaving: return .next(nil)
        }
    }

    /// Holds back messages that follow the position.
    mutating func holdBack() {
        guard tracking.position != nil else { return }
        isHeldBack = true
    }

    /// Ends ``holdBack()``; returns whether the subscription must be repeated from the position.
    mutating func endHold() -> Bool {
        isHeldBack = false
        return exchange(&hasMissed, with: false) && state == .subscribed
    }

    mutating func confirm() {
        state = .subscribed
        refusal = nil
        failures = 0
    }

    mutating func refuse(_ error: FanfareError) {
        state = .refused
        refusal = error
        signature = nil
        authorization = nil
        roster = nil
    }

    /// Whether the next lease determines the start: no reader continues from the subscription.
    var isNew: Bool { state == .leaving || state == .refused && tracking.position == nil }

    /// Returns the gap before the events of a later lease; `nil` for none, and as long as that is not known.
    func gap(from start: ChannelPosition) -> Gap? {
        isPositionKnown ? tracking.gap(from: start) : nil
    }

    private var isPositionKnown: Bool {
        nextTracking == nil && (tracking.position != nil || state == .subscribed)
    }

    /// Begins a later lease, which does not move the position; returns the gap before its events, if it is known.
    mutating func begin(_ start: LeaseStart) -> Gap? {
        guard let position = start.position else { return nil }
        if !isPositionKnown { waitingStarts.append(start) }
        return gap(from: position)
    }

    /// Returns the leases that have waited for the position, with the gaps before their events.
    mutating func takeWaitingGaps() -> [(lease: Int, gap: Gap)] {
        exchange(&waitingStarts, with: []).compactMap { start in
            start.position.flatMap(tracking.gap).map { (start.lease, $0) }
        }
    }

    /// Waits for the broker's answer to the cancelled subscription.
    mutating func leave() {
        state = .leaving
        roster = nil
        nextTracking = nil
        waitingStarts = []
    }

    /// Begins the subscription that follows the cancelled one.
    ///
    /// - Parameters:
    ///   - start: The start without a kept position; `nil` for the present.
    ///   - kept: What was kept of the channel.
    mutating func begin(from start: ChannelTracking?, or kept: Subscription?) {
        state = .pending
        signature = kept?.signature
        _ = decryption.takeHeld()
        if let kept { decryption = kept.decryption }
        let next = kept?.tracking.position == nil ? start : kept?.tracking
        // If both begin at the present, the pending answer applies to the new subscription.
        nextTracking = next ?? (tracking.isAtPresent ? nil : ChannelTracking())
    }

    /// Returns what a later subscription to the channel continues from; `nil` if there is nothing.
    fileprivate func kept() -> Subscription? {
        var kept = self
        kept.end()
        kept.roster = nil
        kept.waitingStarts = []
        // The backend may have a new key, for which these events wait.
        if !decryption.held.isEmpty { kept.signature = nil }
        // Without a position nothing continues: a later subscription is new.
        guard kept.tracking.position == nil else { return kept }
        kept.wasConfirmed = false
        return kept.signature == nil ? nil : kept
    }

    private mutating func end() {
        state = .wanted
        authorization = nil
        refusal = nil
        count = nil
        failures = 0
        decryption.ticket = nil
        if let next = nextTracking.take() { tracking = next }
        tracking.subscriptionEnded()
        // The position precedes what was held back, and the next subscription begins there.
        _ = endHold()
    }

    /// Waits for the next connection.
    fileprivate mutating func endConnection() {
        end()
        if signature?.validity == .current { signature?.validity = .outdated }
    }
}

/// A signature of a subscription, for one connection.
struct ConnectionSignature: Equatable {
    enum Validity {
        /// Passed without a connection, so it is for the next one.
        case next
        case current
        /// Its connection has ended.
        case outdated
    }

    var authorization: ChannelAuthorization
    var validity: Validity
}

/// The subscriptions of an app.
struct Subscriptions {
    /// The most channels to keep after the app has unsubscribed from them.
    static let leftCountMax = 256

    private var subscriptions: [String: Subscription] = [:]
    private var nextOrdinal = 0
    /// The channels from which the app has unsubscribed, for a subscription within the grace.
    private var left: [String: (subscription: Subscription, at: Duration)] = [:]

    /// The state of a subscription; `nil` if the app has not subscribed.
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

    /// The subscription to a channel.
    subscript(of channel: String) -> Subscription? {
        get { subscriptions[channel] }
        _modify { yield &subscriptions[channel] }
    }

    /// The channels, in the order of subscription.
    var channels: [String] {
        subscriptions.sorted { $0.value.ordinal < $1.value.ordinal }.map(\.key)
    }

    /// Whether client events can be sent on a channel.
    ///
    /// None is sent during a replay. A replay names one connection only, so a later one could not leave out the events
    /// of both this connection and the one before.
    func isOpen(_ channel: String) -> Bool {
        guard let subscription = subscriptions[channel] else { return false }
        return subscription.state == .subscribed && !subscription.tracking.isReplaying
    }

    /// Resets the subscriptions after the connection has ended; cancelled ones are removed.
    mutating func endConnection() {
        subscriptions = subscriptions.filter { $0.value.state != .leaving }
        for channel in subscriptions.keys { subscriptions[channel]?.endConnection() }
        for channel in left.keys { left[channel]?.subscription.endConnection() }
    }

    // MARK: Channels that were left

    /// Whether the app has unsubscribed from the channel, and may still continue there.
    func hasLeft(_ channel: String) -> Bool { left[channel] != nil }

    /// Keeps what a subscription within the grace continues from.
    ///
    /// - Returns: The other channels that are no longer kept.
    mutating func keep(_ channel: String, at now: Duration, for grace: Duration) -> [String] {
        var dropped = left.filter { now - $0.value.at >= grace }.map(\.key)
        for channel in dropped { left[channel] = nil }
        guard grace > .zero, let kept = subscriptions[channel]?.kept() else { return dropped }
        if left.count == Self.leftCountMax,
            let oldest = left.min(by: { $0.value.at < $1.value.at })?.key
        {
            left[oldest] = nil
            dropped.append(oldest)
        }
        left[channel] = (kept, now)
        return dropped
    }

    /// Removes and returns what was kept of a channel that the app left less than the grace ago.
    mutating func takeLeft(_ channel: String, at now: Duration, for grace: Duration)
        -> Subscription?
    {
        guard let (subscription, time) = left.removeValue(forKey: channel), now - time < grace
        else { return nil }
        return subscription
    }

    /// Continues with what was kept of a channel.
    mutating func restore(_ kept: Subscription, to channel: String) {
        subscriptions[channel] = kept
        subscriptions[channel]?.ordinal = nextOrdinal
        nextOrdinal += 1
    }

    /// Drops what was kept of a channel.
    mutating func dropLeft(_ channel: String) { left[channel] = nil }

    /// Drops the signature of a channel that was left, because the broker has refused it.
    mutating func refuseSignature(ofLeft channel: String) {
        left[channel]?.subscription.signature = nil
    }

    /// Clears the member lists: no further changes will be received.
    mutating func clearMembers() {
        for channel in subscriptions.keys { subscriptions[channel]?.roster = nil }
    }
}
