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
    private(set) var state = State.idle
    /// The user's own channel, for events from the backend.
    var channel: String?
    /// Whether the session subscribed to that channel, not the app.
    var ownsChannel = false
    /// Whether the broker has confirmed the subscription to a user's channel before.
    private var wasConfirmed = false
    /// The last subscription to a user's channel that the session made, for a sign-in as the same user.
    var former: (channel: String, tracking: ChannelTracking, wasConfirmed: Bool)?
    /// Whether the alarm for the broker's answer is running.
    private var isTimed = false
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

    /// Reports the continuity of the user's own channel.
    mutating func report(_ continuity: Continuity) -> [SessionEffect] {
        let isAgain = exchange(&wasConfirmed, with: true)
        // The channel belongs to another user.
        let isOther = isAgain && continuity == .began
        let continuity = isOther ? .gap(Gap(.unknownStream)) : continuity
        let effect = SessionEffect.continuity(channel: Topic.user, continuity)
        guard isAgain, let gap = continuity.gap(isAgain: true) else { return [effect] }
        return [effect, .gap(channel: Topic.user, gap)]
    }

    // MARK: Steps

    /// Begins on a connection: with the signer's message or a request to the backend, if the app wants it.
    mutating func begin(
        _ socketID: SocketID,
        signer: LocalSigner?,
        authenticates: Bool,
        _ tickets: inout Tickets
    ) -> [SessionEffect] {
        if let message = signer?.signIn(socketID) {
            state = .pending
            return [.send(message)]
        }
        guard isWanted else { return [] }
        guard authenticates else { return fail(.signInFailed(.notConfigured)) }
        let ticket = tickets.add(.user)
        state = .authenticating(ticket)
        return [.authenticate(ticket: ticket, socketID: socketID.description)]
    }

    /// Passes the backend's answer to the broker, which has to confirm it within a time limit.
    mutating func receive(
        _ outcome: Result<UserAuthentication, AuthorizationFailure>,
        within limit: Duration
    ) -> [SessionEffect] {
        switch outcome {
        case .success(let user):
            (state, isTimed) = (.pending, true)
            let message = ClientMessage.signin(auth: user.auth, userData: user.userData)
            return [.send(message), .startAlarm(.signIn, limit)]
        case .failure(let failure): return fail(.signInFailed(failure))
        }
    }

    /// Ends the sign-in with the broker's confirmation.
    mutating func complete(_ user: SignedInUser) -> [SessionEffect] {
        state = .done(user)
        return stopAlarm()
    }

    mutating func fail(_ error: FanfareError) -> [SessionEffect] {
        state = .refused(error)
        return stopAlarm() + [.signInFailed(error)]
    }

    /// Resets what belongs to the ended connection.
    mutating func endConnection() -> [SessionEffect] {
        state = .idle
        watchlist = Watchlist()
        (channel, ownsChannel) = (nil, false)
        return stopAlarm()
    }

    private mutating func stopAlarm() -> [SessionEffect] {
        exchange(&isTimed, with: false) ? [.stopAlarm(.signIn)] : []
    }
}
