public import PusherProtocol

/// Users: who a connection is signed in as, and what it is told of others (Pusher protocol, "Users").
extension Session {
    /// The user that the connection is signed in as; `nil` for nobody.
    public var user: UserID? { extras.user?.id }

    /// The users whose coming and going the connection is told.
    var watchedUsers: [UserID] { extras.watchlist.users }

    /// Takes in who is online and who is not of the users that the connection watches.
    ///
    /// - Parameters:
    ///   - online: Users who are online, or have come.
    ///   - offline: Users who are not, or have left.
    /// - Returns: What to tell the client: at first all of them together, then each change; `nil` for nothing.
    public mutating func learn(online: [UserID], offline: [UserID]) -> ServerMessage? {
        // A connection that watches nobody is told late by a home which has not heard so yet.
        guard !extras.watchlist.isEmpty else { return nil }
        return extras.watchlist.learn(online: online, offline: offline)
    }

    /// Signs the connection in, or a user who is signed in again with other info and another watchlist.
    ///
    /// Every refusal leaves the connection open, and as who it was: closed with 4009, clients would stay away for good.
    mutating func signIn(auth: String, userData: String, now: Int64) -> Effects {
        guard app.features.users else {
            return refuse(
                "Users cannot sign in: app \(app.id) has not switched that on (features.users)",
                code: .unauthorized,
                now: now
            )
        }
        let signedIn: SignedInUser
        do {
            try UserSignature.verify(auth, socketID: socketID, userData: userData) {
                app.credentials.secret(of: $0)
            }
        } catch {
            return refuse(error.description, code: .unauthorized, now: now)
        }
        do {
            signedIn = try SignedInUser(userData: userData, limits: app.limits)
        } catch {
            return refuse(error.description, code: .unauthorized, now: now)
        }
        if let user, user != signedIn.id {
            return refuse(
                "This connection is signed in as \(user) and stays so: "
                    + "\(signedIn.id) needs a connection of their own",
                code: .unauthorized,
                now: now
            )
        }
        return accept(signedIn, userData: userData)
    }

    private mutating func accept(_ signedIn: SignedInUser, userData: String) -> Effects {
        var effects: [Effect] = []
        if user == nil { effects.append(.signIn(signedIn.id)) }
        extras.user = signedIn.member
        effects += endProbation()
        effects.append(.send(.signinSuccess(userData: userData)))
        let watched = app.features.watchlist ? signedIn.watchlist : []
        if app.features.watchlist, signedIn.watchlistCount > app.limits.watchlistMax {
            let message =
                "Watchlist limit exceeded: of the \(signedIn.watchlistCount) users that are named, "
                + "the first \(watched.count) are watched"
            effects.append(.met(.watchlist))
            effects.append(.send(.error(code: .watchlistLimitExceeded, message: message)))
        }
        guard !watched.isEmpty || !extras.watchlist.isEmpty else { return Effects(effects) }
        let (added, removed) = extras.watchlist.replace(with: watched)
        if !removed.isEmpty { effects.append(.unwatch(removed)) }
        if !added.isEmpty { effects.append(.watch(added)) }
        return Effects(effects)
    }

    // MARK: - AuthorizationDeadlines

    /// Takes in that the app's backend knows the client, or need not any more: the connection may stay.
    ///
    /// - Returns: What to do about it; nothing for a connection that may stay anyway.
    public mutating func endProbation() -> Effects {
        guard isOnProbation else { return [] }
        isOnProbation = false
        return Effects(.beginTenure)
    }
}
