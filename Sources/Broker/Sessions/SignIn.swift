public import PusherProtocol

/// Users: sign-in and watchlists (Pusher protocol, "Users").
extension Session {
    /// The user that the connection is signed in as; `nil` for none.
    public var user: UserID? { extras.user?.id }

    /// The users that the connection watches.
    var watchedUsers: [UserID] { extras.watchlist.users }

    /// Updates which of the watched users are online, and returns the message to the client.
    ///
    /// The first message contains all users together, later ones a change each; `nil` for none.
    public mutating func updatePresence(online: [UserID], offline: [UserID]) -> ServerMessage? {
        // A home that has not processed an `unwatch` yet may still report.
        guard !extras.watchlist.isEmpty else { return nil }
        return extras.watchlist.update(online: online, offline: offline)
    }

    /// Signs the connection in, or updates info and watchlist of its user.
    ///
    /// A refusal leaves connection and user as they are: after a close with 4009, clients would not reconnect.
    mutating func signIn(auth: String, userData: String, now: Int64) -> Effects {
        guard app.features.users else {
            return refuse(
                "Users cannot sign in: features.users is off for app \(app.id)",
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
            return refuseSignature(error.description, code: .unauthorized, now: now)
        }
        do {
            signedIn = try SignedInUser(userData: userData, limits: app.limits)
        } catch {
            return refuse(error.description, code: .unauthorized, now: now)
        }
        if let user, user != signedIn.id {
            return refuse(
                "This connection is signed in as \(user): "
                    + "\(signedIn.id) needs another connection",
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
        effects += authorize()
        effects.append(.send(.signinSuccess(userData: userData)))
        let watched = app.features.watchlist ? signedIn.watchlist : []
        if app.features.watchlist, signedIn.watchlistCount > app.limits.watchlistMax {
            let message =
                "Watchlist limit exceeded: of the \(signedIn.watchlistCount) users given, only "
                + "the first \(watched.count) are watched"
            effects.append(.limitMet(.watchlist))
            effects.append(.send(.error(code: .watchlistLimitExceeded, message: message)))
        }
        guard !watched.isEmpty || !extras.watchlist.isEmpty else { return Effects(effects) }
        let (added, removed) = extras.watchlist.replace(with: watched)
        if !removed.isEmpty { effects.append(.unwatch(removed)) }
        if !added.isEmpty { effects.append(.watch(added)) }
        return Effects(effects)
    }

    // MARK: - Authorization

    /// Marks the connection as authorized by the app's backend, or by a change of the configuration.
    ///
    /// - Returns: The effects to perform; none unless authorization was pending.
    public mutating func authorize() -> Effects {
        guard awaitsAuthorization else { return [] }
        awaitsAuthorization = false
        return Effects(.claimQuota)
    }
}
