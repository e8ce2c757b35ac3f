public import PusherProtocol

/// One client's conversation with the broker, from `connection_established` to the close.
///
/// A value: a message goes in, the effects that it causes come out, and the caller carries them out in order. It
/// knows neither the socket nor the clock.
public struct Session {
    /// What the caller has to do.
    public enum Effect: Sendable {
        /// Send this message to the client.
        case send(ServerMessage)
        /// Ask the channel's home for a subscription, on a presence channel as a member; its answer comes back
        /// with `request`.
        case join(ChannelName, as: Member?, request: UInt32)
        /// Take the connection out of the channel, here and at its home.
        case leave(ChannelName)
        /// Hand this event to the channel's home, for everybody on it but the client itself.
        case publish(ClientEvent, on: ChannelName)
        /// Count the connection as one that is signed in as the user, until it closes.
        case signIn(UserID)
        /// Tell the connection of these users' coming and going, and at first whether they are there.
        case watch([UserID])
        /// Tell it no more of these.
        case unwatch([UserID])
        /// Let the connection stay, if the app has room for one more: its probation is over.
        case beginTenure
        /// Count that the client has met this limit; what it is told of it is another effect.
        case met(Limit)
        /// Say why, close with this code, and drop the connection.
        case close(PusherCode, message: String)
    }

    /// The identifier that the client signs with and that backends exclude.
    public let socketID: SocketID
    /// The app that the client connected to, as it is now.
    public private(set) var app: App

    /// The channels that the connection has joined or asked to join.
    public private(set) var subscriptions = Subscriptions()
    private var lastRequest: UInt32 = 0
    /// Whether the connection still has to prove that the app's backend knows it; here it takes no room.
    public internal(set) var isOnProbation: Bool
    private var subscriptionBucket = TokenBucket()
    private var faults = FaultCount()
    /// What few sessions need; see the extensions.
    var extras = SessionExtras()

    /// Begins the conversation of the client `socketID` of `app`.
    public init(socketID: SocketID, app: App) {
        self.socketID = socketID
        self.app = app
        isOnProbation = app.features.authorizationTimeout != nil
    }

    /// Replaces the app's configuration; existing subscriptions stay.
    public mutating func replaceApp(_ app: App) { self.app = app }

    /// Takes in one message of the client.
    ///
    /// - Parameters:
    ///   - message: What the client said.
    ///   - now: Nanoseconds on a steady clock, for rates.
    /// - Returns: What to do, in order.
    public mutating func receive(_ message: ClientMessage, now: Int64) -> Effects {
        switch message {
        case .ping:
            return Effects(.send(.pong))
        case .pong:
            return []
        case .subscribe(let channel, let auth, let channelData):
            return subscribe(channel, auth: auth, channelData: channelData, now: now)
        case .unsubscribe(let channel):
            return unsubscribe(channel, now: now)
        case .signin(let auth, let userData):
            return signIn(auth: auth, userData: userData, now: now)
        case .clientEvent(let event):
            return receive(event, now: now)
        case .unsupported(let event):
            return refuse("Unsupported event received on socket: '\(event)'", now: now)
        }
    }

    /// Takes in a message that breaks the protocol's form: the connection stays, unless it makes a habit of it.
    public mutating func receive(_ fault: MessageError, now: Int64) -> Effects {
        met(fault.limit) + refuse(fault.description, now: now)
    }

    /// Takes in the home's grant of a subscription.
    ///
    /// - Parameters:
    ///   - channel: The channel; this copy of its name replaces the client's own.
    ///   - request: What the home grants.
    /// - Returns: Whether the client still waits for this very grant. If not, it has unsubscribed meanwhile and the
    ///   home has been told so already.
    public mutating func granted(_ channel: ChannelName, request: UInt32) -> Bool {
        guard case .awaited(request) = subscriptions[channel] else { return false }
        subscriptions.put(channel, .active)
        return true
    }

    /// Takes in that the home does not grant a subscription.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - request: What the home does not grant.
    ///   - refusal: Why.
    ///   - now: Nanoseconds on a steady clock, for rates.
    /// - Returns: What to tell the client, unless it has unsubscribed meanwhile.
    public mutating func refused(
        _ channel: ChannelName,
        request: UInt32,
        _ refusal: SubscriptionRefusal,
        now: Int64
    ) -> Effects {
        guard case .awaited(request) = subscriptions[channel], subscriptions.remove(channel) else {
            return []
        }
        return refuseSubscription(channel.text, refusal, now: now)
    }

    /// Takes in that the connection closes: it is subscribed to nothing, signed in as nobody and watches nobody.
    ///
    /// - Returns: What it was, so that others can be told.
    public mutating func end() -> Ties {
        let ties = Ties(
            subscriptions: exchange(&subscriptions, with: Subscriptions()),
            user: user,
            watchedUsers: watchedUsers
        )
        extras = SessionExtras()
        return ties
    }

    /// What binds a connection to others.
    public struct Ties {
        /// The channels that it has joined or asked to join.
        public let subscriptions: Subscriptions
        /// The user that it is signed in as.
        public let user: UserID?
        /// The users whose coming and going it is told.
        public let watchedUsers: [UserID]
    }

    // MARK: - Subscriptions

    /// Whether the channel's home has granted a subscription that the client has not given up.
    func isActive(on channel: ChannelName) -> Bool {
        if case .active = subscriptions[channel] { true } else { false }
    }

    private mutating func subscribe(
        _ text: String,
        auth: String?,
        channelData: String?,
        now: Int64
    ) -> Effects {
        let name: ChannelName
        do {
            name = try ChannelName(text, limits: app.limits.texts)
        } catch {
            return refuseSubscription(text, .invalidName(error), now: now)
        }
        guard subscriptions[name] == nil else {
            return refuse("Existing subscription to channel \(text)", now: now)
        }
        guard subscriptions.count < app.limits.subscriptionsMax else {
            return refuseSubscription(text, .tooMany(limit: app.limits.subscriptionsMax), now: now)
        }
        if let rate = app.limits.subscriptionRate, !subscriptionBucket.take(at: now, rate) {
            return refuseSubscription(text, .tooFast(rate), now: now)
        }
        let member: Member?
        do throws(SubscriptionRefusal) {
            member = try Admission.member(
                joining: name,
                socketID: socketID,
                auth: auth,
                channelData: channelData,
                user: extras.user,
                app: app
            )
        } catch {
            return refuseSubscription(text, error, now: now)
        }
        lastRequest &+= 1
        subscriptions.put(name, .awaited(request: lastRequest))
        let join = Effect.join(name, as: member, request: lastRequest)
        guard isOnProbation, name.kind.requiresSignature else { return Effects(join) }
        return Effects(join) + endProbation()
    }

    private mutating func unsubscribe(_ text: String, now: Int64) -> Effects {
        guard
            let name = try? ChannelName(text, limits: app.limits.texts),
            subscriptions.remove(name)
        else {
            return refuse(
                "No current subscription to channel \(text), or subscription in progress",
                now: now
            )
        }
        return Effects(.leave(name))
    }

    // MARK: - Refusals

    private mutating func refuseSubscription(
        _ channel: String,
        _ refusal: SubscriptionRefusal,
        now: Int64
    ) -> Effects {
        let told = ServerMessage.subscriptionError(
            channel: channel,
            type: refusal.type,
            message: refusal.description,
            status: refusal.status
        )
        return met(refusal.limit) + [.send(told)] + refuse(refusal.description, now: now)
    }

    private func met(_ limit: Limit?) -> Effects { limit.map { Effects(.met($0)) } ?? [] }

    /// Tells the client what is wrong with its message; the connection stays, unless it makes a habit of it.
    mutating func refuse(_ message: String, code: PusherCode? = nil, now: Int64) -> Effects {
        if faults.record(at: now) > app.limits.faultsPerMinuteMax {
            return [
                .met(.faultRate),
                .close(
                    .overCapacity,
                    message: "More than \(app.limits.faultsPerMinuteMax) faulty messages a minute"
                ),
            ]
        }
        return Effects(.send(.error(code: code, message: message)))
    }
}

/// How many faults fell into the current minute.
struct FaultCount {
    private var minute: UInt32 = 0
    private var count: UInt32 = 0

    /// Counts one more, `now` in nanoseconds, and returns how many this minute has seen.
    mutating func record(at now: Int64) -> Int {
        let current = UInt32(truncatingIfNeeded: now / 60_000_000_000)
        if current != minute { (minute, count) = (current, 0) }
        count &+= 1
        return Int(count)
    }
}
