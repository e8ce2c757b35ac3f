public import PusherProtocol

/// The protocol state of one connection, from `connection_established` to the close.
///
/// A value without I/O: each call takes a message and returns its effects, which the caller performs in order. It knows
/// neither the socket nor the clock.
public struct Session {
    /// An effect that the caller has to perform.
    public enum Effect: Sendable {
        /// Send this message to the client.
        case send(ServerMessage)
        /// Request a subscription from the channel's home, on a presence channel as a member. The answer carries
        /// `request`.
        case join(ChannelName, as: Member?, request: UInt32)
        /// The same for a client that tracks its position in the channel's stream.
        indirect case joinFrom(PositionRequest, ChannelName, as: Member?, request: UInt32)
        /// Claim the session of the client's token at its home; the answer precedes the subscriptions.
        indirect case claimSession(SessionClaim)
        /// Remove the connection from the channel, here and at its home.
        case leave(ChannelName)
        /// Forward this event to the channel's home, for all subscribers but the client itself.
        case publish(ClientEvent, on: ChannelName)
        /// Count the connection as signed in as the user, until it closes.
        case signIn(UserID)
        /// Subscribe the connection to these users' presence, current state included.
        case watch([UserID])
        /// Unsubscribe the connection from these users' presence.
        case unwatch([UserID])
        /// Count the connection towards the app's quota, if a place is free: it is authorized.
        case claimQuota
        /// Read no more messages for ``signatureDelay``, because the client has sent too many invalid signatures.
        case slowDown
        /// Count that a limit was reached. The error to the client is another effect.
        case limitMet(Limit)
        /// Send an error with this code and message, and close the connection.
        case close(PusherCode, message: String)
    }

    /// The time until the next message is read after a refused signature, in a minute with too many of them.
    public static let signatureDelay = Duration.milliseconds(50)

    /// The socket ID, which clients sign with and backends exclude.
    public let socketID: SocketID
    /// The app that the client connected to, in its current configuration.
    public private(set) var app: App

    /// The channels that the connection is subscribed to or has requested.
    public internal(set) var subscriptions = Subscriptions()
    private var lastRequest: UInt32 = 0
    /// Whether authorization is pending, with a deadline.
    ///
    /// The property fits into padding, so it costs no memory.
    public internal(set) var awaitsAuthorization: Bool
    private var subscriptionBucket = TokenBucket()
    /// State that few sessions need; see the extensions.
    var extras = SessionExtras()

    /// Creates the session of connection `socketID` of `app`.
    public init(socketID: SocketID, app: App) {
        self.socketID = socketID
        self.app = app
        awaitsAuthorization = app.features.authorizationDeadline != nil
    }

    /// Replaces the app's configuration; existing subscriptions stay.
    public mutating func replaceApp(_ app: App) { self.app = app }

    /// Handles a message of the client, and returns the effects to perform.
    ///
    /// `now` is in nanoseconds of a steady clock, for rates.
    public mutating func receive(_ message: ClientMessage, now: Int64) -> Effects {
        switch message {
        case .ping:
            return Effects(.send(.pong))
        case .pong:
            return []
        case .subscribe(let channel, let auth, let channelData, let position):
            return subscribe(
                channel,
                auth: auth,
                channelData: channelData,
                position: app.recovery.isEnabled ? position : nil,
                now: now
            )
        case .unsubscribe(let channel):
            return unsubscribe(channel, now: now)
        case .signin(let auth, let userData):
            return signIn(auth: auth, userData: userData, now: now).refusing(.signIn)
        case .clientEvent(let event):
            return receive(event, now: now)
        case .unsupported(let event):
            return refuse("Unsupported event received on socket: '\(event)'", now: now)
        }
    }

    /// Handles a malformed message: answers with an error, or closes the connection after too many.
    public mutating func receive(_ fault: MessageError, now: Int64) -> Effects {
        if case .invalidPosition(let channel, let error) = fault {
            return refuseSubscription(channel, .invalidPosition(error), now: now)
        }
        return limitMet(fault.limit) + refuse(fault.description, now: now)
    }

    /// Handles the home's grant of a subscription, and returns whether the client still awaits this request.
    ///
    /// If not, the client has unsubscribed meanwhile, and the home has already received that. This copy of the
    /// channel's name replaces the client's own. `isTracked` is whether the grant says where the subscription begins in
    /// the channel's stream.
    public mutating func granted(
        _ channel: ChannelName,
        request: UInt32,
        isTracked: Bool = false
    ) -> Bool {
        guard case .awaited(request, let tracks) = subscriptions[channel] else { return false }
        subscriptions.put(channel, .active(isTracked: isTracked && tracks))
        return true
    }

    /// Whether the client is subscribed to a channel and tracks its position in the channel's stream.
    public func tracks(_ channel: ChannelName) -> Bool {
        if case .active(isTracked: true) = subscriptions[channel] { true } else { false }
    }

    /// Handles the home's refusal of a subscription, at a time in nanoseconds of a steady clock.
    ///
    /// - Returns: The error to the client, unless it has unsubscribed meanwhile.
    public mutating func refused(
        _ channel: ChannelName,
        request: UInt32,
        _ refusal: SubscriptionRefusal,
        now: Int64
    ) -> Effects {
        guard case .awaited(request, _) = subscriptions[channel], subscriptions.remove(channel)
        else { return [] }
        if hasToken { extras.recovery.endRequest(channel) }
        return refuseSubscription(channel.text, refusal, now: now)
    }

    /// Ends the session at a time in milliseconds of a steady clock: removes subscriptions, user and watchlist.
    ///
    /// - Returns: The removed registrations, for the homes of channels and users.
    public mutating func end(at now: Int64 = 0) -> Registrations {
        removeWaitingJoins()
        let registrations = Registrations(
            subscriptions: exchange(&subscriptions, with: Subscriptions()),
            user: user,
            watchedUsers: watchedUsers,
            handover: yield(at: now)
        )
        extras = SessionExtras()
        return registrations
    }

    /// The registrations of a connection at the homes of channels and users.
    public struct Registrations {
        /// The channels that it is subscribed to or has requested.
        public let subscriptions: Subscriptions
        /// The user that it is signed in as.
        public let user: UserID?
        /// The users that it watches.
        public let watchedUsers: [UserID]
        /// The positions that a client with a session token has confirmed, if it owns its session.
        public let handover: SessionHandover?
    }

    // MARK: - Subscriptions

    /// Whether the subscription is granted and not cancelled.
    func isActive(on channel: ChannelName) -> Bool {
        if case .active = subscriptions[channel] { true } else { false }
    }

    private mutating func subscribe(
        _ text: String,
        auth: String?,
        channelData: String?,
        position: PositionRequest?,
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
        if hasToken { extras.recovery.forget(name, at: now / 1_000_000, grace: resubscribeGrace) }
        lastRequest &+= 1
        subscriptions.put(name, .awaited(request: lastRequest, tracks: position != nil))
        let join =
            position.map { Effects(.joinFrom($0, name, as: member, request: lastRequest)) }
            ?? join(name, as: member, request: lastRequest)
        guard awaitsAuthorization, name.kind.requiresSignature else { return join }
        return join + authorize()
    }

    private mutating func unsubscribe(_ text: String, now: Int64) -> Effects {
        guard
            let name = try? ChannelName(text, limits: app.limits.texts),
            subscriptions.remove(name)
        else {
            // Not a fault: a page may leave a channel whose subscription was refused, or not sent yet.
            let message = "No current subscription to channel \(text), or subscription in progress"
            var effects = Effects(.send(.error(code: nil, message: message)))
            effects.refusal = .message
            return effects
        }
        // The home of a channel that waits for the session does not know of the subscription.
        if hasToken {
            let isKnown = extras.recovery.unsubscribe(
                name,
                at: now / 1_000_000,
                grace: resubscribeGrace
            )
            guard isKnown else { return [] }
        }
        return Effects(.leave(name))
    }

    // MARK: - Refusals

    private mutating func refuseSubscription(
        _ channel: String,
        _ refusal: SubscriptionRefusal,
        now: Int64
    ) -> Effects {
        let error = ServerMessage.subscriptionError(
            channel: channel,
            type: refusal.type,
            message: refusal.description,
            status: refusal.status
        )
        let effects: Effects = limitMet(refusal.limit) + [.send(error)]
        if refusal.isOfSignature {
            return (effects + refuseSignature(refusal.description, now: now))
                .refusing(.subscription)
        }
        return (effects + refuse(refusal.description, now: now)).refusing(.subscription)
    }

    private func limitMet(_ limit: Limit?) -> Effects { limit.map { Effects(.limitMet($0)) } ?? [] }

    /// Answers with an error; slows the connection after too many refused signatures within a minute.
    ///
    /// They do not count as faulty messages. A client that has reconnected may still send signatures of its former
    /// socket ID, and a close would only give it another one.
    mutating func refuseSignature(
        _ message: String,
        code: PusherCode? = nil,
        now: Int64
    ) -> Effects {
        var effects = Effects(.send(.error(code: code, message: message)))
        let limit = min(app.limits.faultsPerMinuteMax, FaultCount.signaturesMax - 1)
        if extras.faults.recordSignature(at: now) > limit {
            effects = effects + Effects(.slowDown)
        }
        effects.refusal = .message
        return effects
    }

    /// Answers with an error; closes the connection after too many faulty messages within a minute.
    mutating func refuse(_ message: String, code: PusherCode? = nil, now: Int64) -> Effects {
        var effects = Effects(.send(.error(code: code, message: message)))
        if extras.faults.record(at: now) > app.limits.faultsPerMinuteMax {
            effects = [
                .limitMet(.faultRate),
                .close(
                    .overCapacity,
                    message: "More than \(app.limits.faultsPerMinuteMax) faulty messages a minute"
                ),
            ]
        }
        effects.refusal = .message
        return effects
    }
}

/// The numbers of faulty messages and of refused signatures in the current minute, in eight bytes.
struct FaultCount {
    /// The maximum of ``signatures``, where counting stops.
    static var signaturesMax: Int { Int(UInt16.max) }

    private var messages: UInt32 = 0
    private var signatures: UInt16 = 0
    private var minute: UInt16 = 0

    /// Increments the number of faulty messages, `now` in nanoseconds, and returns it.
    mutating func record(at now: Int64) -> Int {
        startMinute(of: now)
        messages &+= 1
        return Int(messages)
    }

    /// Increments the number of refused signatures, `now` in nanoseconds, and returns it.
    mutating func recordSignature(at now: Int64) -> Int {
        startMinute(of: now)
        if signatures < .max { signatures += 1 }
        return Int(signatures)
    }

    private mutating func startMinute(of now: Int64) {
        let current = UInt16(truncatingIfNeeded: now / 60_000_000_000)
        if current != minute { (minute, messages, signatures) = (current, 0, 0) }
    }
}
