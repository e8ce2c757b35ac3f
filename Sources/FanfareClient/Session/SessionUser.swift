import PusherProtocol

/// How far a session has got with telling the broker who its user is.
struct SignIn {
    enum State: Equatable {
        /// Nothing is under way.
        case idle
        /// The app's backend has been asked, by the request of this number.
        case authenticating(Int)
        /// The broker has been asked.
        case pending
        case done(SignedInUser)
        case refused(FanfareError)
    }

    /// Whether the app wants to be signed in, now and with each further connection.
    var isWanted = false
    var state = State.idle
    /// The user's own channel, which brings what a backend sends to them.
    var channel: String?
    /// Whether this session has joined that channel by itself, and not the app.
    var ownsChannel = false
    /// Whether the session will be reminded that the broker has not answered.
    var isTimed = false
    /// Which of the watched users are there.
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
    /// Signs in now, or as soon as there is a connection, and again with each further one.
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

    /// Takes what became of a request for the user.
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
                .report(.protocolViolation("the user who was signed in has no id"))
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

    /// The user's own channel brings what a backend sends to the user.
    private mutating func joinChannel(of user: SignedInUser) {
        let channel = SignedInUser.channelPrefix + user.id
        guard signIn.channel != channel else { return }
        leaveChannelOfUser()
        signIn.channel = channel
        guard subscriptions[channel] == nil else { return }
        signIn.ownsChannel = true
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

    /// Takes note that the connection which was signed in is no more.
    mutating func endSignIn() {
        stopSignInAlarm()
        signIn.state = .idle
        signIn.watchlist = Watchlist()
        if signIn.ownsChannel, let channel = signIn.channel { subscriptions[channel] = nil }
        signIn.ownsChannel = false
        signIn.channel = nil
    }

    mutating func watch(online: [String], offline: [String], _ message: ServerMessage) {
        deliver(message)
        let change = signIn.watchlist.take(
            online: online,
            offline: offline,
            usersMax: settings.membersMax
        )
        if let change { effects.append(.watchlist(change)) }
    }
}
