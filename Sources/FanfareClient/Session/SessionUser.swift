import PusherProtocol

/// The signed-in user: the subscriptions that wait for it, its own channel and its watchlist.
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
        effects += signIn.begin(
            socketID,
            signer: settings.signer,
            authenticates: settings.authenticates,
            &tickets
        )
        refuseIfSignInFailed()
    }

    /// Handles the outcome of a request for the user.
    mutating func authenticated(
        _ ticket: Int,
        _ outcome: Result<UserAuthentication, AuthorizationFailure>
    ) -> [SessionEffect] {
        guard tickets.remove(ticket) == .user, signIn.state == .authenticating(ticket) else {
            return []
        }
        effects += signIn.receive(outcome, within: settings.connectTimeout)
        refuseIfSignInFailed()
        return takeEffects()
    }

    mutating func completeSignIn(_ userData: String, _ message: ServerMessage) {
        guard let user = SignedInUser(userData) else {
            return effects.append(.report(.protocolViolation("the signed-in user has no id")))
        }
        effects += signIn.complete(user)
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
        // The app has left it; the session has its own position there.
        subscriptions.dropLeft(channel)
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

    /// Handles the broker's refusal, or a missing answer.
    mutating func refuseSignIn(_ message: String) {
        effects += signIn.fail(.signInRefused(message: message))
        refuseIfSignInFailed()
    }

    /// Refuses the subscriptions that wait for the user.
    private mutating func refuseIfSignInFailed() {
        guard case .refused(let error) = signIn.state else { return }
        for channel in subscriptions.channels where subscriptions[channel] == .awaitingUser {
            refuse(channel, error)
        }
    }

    /// Resets the sign-in after the connection has ended.
    mutating func endSignIn() {
        if signIn.ownsChannel, let channel = signIn.channel {
            signIn.former = subscriptions[of: channel].map {
                (channel, $0.tracking, $0.wasConfirmed)
            }
            subscriptions[channel] = nil
        }
        effects += signIn.endConnection()
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
