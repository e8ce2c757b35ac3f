import PusherProtocol

/// The state of a session's sign-in.
struct SignIn {
    enum State: Equatable {
        /// No sign-in is in progress.
        case idle
        /// The request to the app's backend is in flight, with this ticket.
        case authenticating(Int)
        /// The message to the broker was sent.
        case pending
        case done(SignedInUser)
        case refused(FanfareError)
    }

    /// Whether the app has called `signIn()`; applies to each connection.
    var isWanted = false
    var state = State.idle
    /// The user's own channel, for events from the backend.
    var channel: String?
    /// Whether the session subscribed to that channel, not the app.
    var ownsChannel = false
    /// Whether the broker has confirmed the subscription to a user's channel before.
    var wasConfirmed = false
    /// The last subscription to a user's channel that the session made, for a sign-in as the same user.
    var former: (channel: String, tracking: ChannelTracking, wasConfirmed: Bool)?
    /// Whether the alarm for the broker's answer is running.
    var isTimed = false
    /// The watched users.
    var watchlist = Watchlist()

    var isPending: Bool { state == .pending }

    var isUnderWay: Bool {
        switch state {
        case .authenticating, .pending: true
        case .idle, .done, .refused: false
        }
    }

    var user: SignedInUser? { if case .done(let user) = state { user } else { nil } }
}

extension ClientSession {
    /// Signs in now or when connected, and again on each later connection.
    mutating func startSigningIn() -> [SessionEffect] {
        signIn.isWanted = true
        switch signIn.state {
        case .authenticating, .pending, .done: return []
        case .idle, .refused: break
        }
        if let socketID { beginSignIn(socketID) }
        return takeEffects()
    }

    mutating func beginSignIn(_ socketID: SocketID) {
        if let message = settings.signer?.signIn(socketID) {
            signIn.state = .pending
            return effects.append(.send(message))
        }
        guard signIn.isWanted else { return }
        guard settings.authenticates else { return failSignIn(.signInFailed(.notConfigured)) }
        let ticket = tickets.add(.user)
        signIn.state = .authenticating(ticket)
        effects.append(.authenticate(ticket: ticket, socketID: socketID.description))
    }

    /// Handles the outcome of a request for the user.
    mutating func authenticated(
        _ ticket: Int,
        _ outcome: Result<UserAuthentication, AuthorizationFailure>
    ) -> [SessionEffect] {
        guard tickets.remove(ticket) == .user, signIn.state == .authenticating(ticket) else {
            return []
        }
        switch outcome {
        case .success(let authentication):
            signIn.state = .pending
            effects.append(
                .send(.signin(auth: authentication.auth, userData: authentication.userData))
            )
            signIn.isTimed = true
            effects.append(.startAlarm(.signIn, settings.connectTimeout))
        case .failure(let failure): failSignIn(.signInFailed(failure))
        }
        return takeEffects()
    }

    mutating func completeSignIn(_ userData: String, _ message: ServerMessage) {
        guard let user = SignedInUser(userData) else {
            effects.append(
                .report(.protocolViolation("the signed-in user has no id"))
            )
            return
        }
        stopSignInAlarm()
        signIn.state = .done(user)
        deliver(message)
        if signIn.isWanted {
            joinChannel(of: user)
            effects.append(.signedIn(user))
        }
        for channel in subscriptions.channels where subscriptions[channel] == .awaitingUser {
            if let authorization = subscriptions[of: channel]?.authorization {
                subscriptions[of: channel]?.authorization = nil
                subscribe(channel, authorizedBy: authorization)
            } else {
                join(channel, auth: nil, channelData: nil)
            }
        }
    }

    /// Subscribes to the user's own channel, on which a backend sends events to the user.
    private mutating func joinChannel(of user: SignedInUser) {
        let channel = SignedInUser.channelPrefix + user.id
        guard signIn.channel != channel else { return }
        leaveChannelOfUser()
        signIn.channel = channel
        guard subscriptions[channel] == nil else { return }
        signIn.ownsChannel = true
        subscriptions[channel] = .wanted
        if let former = signIn.former, former.channel == channel {
            subscriptions[of: channel]?.tracking = former.tracking
            subscriptions[of: channel]?.wasConfirmed = former.wasConfirmed
        } else if let stored = storedTracking(of: channel) {
            subscriptions[of: channel]?.tracking = stored
        }
        guard !awaitsPositions else { return }
        join(channel, auth: nil, channelData: nil)
    }

    private mutating func leaveChannelOfUser() {
        guard let channel = signIn.channel else { return }
        signIn.channel = nil
        guard exchange(&signIn.ownsChannel, with: false) else { return }
        if subscriptions[channel] == .subscribed {
            effects.append(.send(.unsubscribe(channel: channel)))
        }
        subscriptions[channel] = nil
    }

    mutating func refuseSignIn(_ message: String) { failSignIn(.signInRefused(message: message)) }

    mutating func signInTimedOut() {
        guard signIn.isPending else { return }
        failSignIn(.signInRefused(message: "no answer within \(settings.connectTimeout)"))
    }

    private mutating func failSignIn(_ error: FanfareError) {
        stopSignInAlarm()
        signIn.state = .refused(error)
        effects.append(.signInFailed(error))
        for channel in subscriptions.channels where subscriptions[channel] == .awaitingUser {
            refuse(channel, error)
        }
    }

    private mutating func stopSignInAlarm() {
        guard exchange(&signIn.isTimed, with: false) else { return }
        effects.append(.stopAlarm(.signIn))
    }

    /// Resets the sign-in after the connection has ended.
    mutating func endSignIn() {
        stopSignInAlarm()
        signIn.state = .idle
        signIn.watchlist = Watchlist()
        if signIn.ownsChannel, let channel = signIn.channel {
            signIn.former = subscriptions[of: channel].map {
                (channel, $0.tracking, $0.wasConfirmed)
            }
            subscriptions[channel] = nil
        }
        signIn.ownsChannel = false
        signIn.channel = nil
    }

    mutating func updateWatchlist(online: [String], offline: [String], _ message: ServerMessage) {
        deliver(message)
        let change = signIn.watchlist.update(
            online: online,
            offline: offline,
            usersMax: settings.membersMax
        )
        if let change { effects.append(.watchlist(change)) }
    }
}
