public import FanfareClient
import PusherProtocol

/// What the app's backend signs, signed by the test.
extension ScriptedBroker {
    /// Lets clients into every channel, with signatures that the broker believes in any case.
    ///
    /// - Parameters:
    ///   - user: The id of the user who joins presence channels; `nil` for one named after the
    ///     connection.
    ///   - info: What the others are told about the user, as JSON text; `nil` for nothing.
    /// - Returns: What to set as the `channelAuthorizer` of a client's options.
    public func channelAuthorizer(
        as user: String? = nil,
        info: String? = nil
    ) -> ChannelAuthorizer {
        ChannelAuthorizer { [self] request, channel in
            let isPresence = ChannelKind(ofName: Array(channel.utf8).span).isPresence
            let member = UserDescription.member(id: user ?? request.socketID, info: info)
            return ChannelAuthorization(
                auth: try authorization(
                    of: request.socketID,
                    for: channel,
                    as: isPresence ? member : nil
                ),
                channelData: isPresence ? member : nil
            )
        }
    }

    /// Signs clients in as a user, with signatures that the broker believes in any case.
    ///
    /// - Parameters:
    ///   - user: The user's id.
    ///   - info: What others are told about the user, as JSON text; `nil` for nothing.
    ///   - watchlist: The ids of the users whose coming and going the client is told.
    /// - Returns: What to set as the `userAuthenticator` of a client's options.
    public func userAuthenticator(
        as user: String,
        info: String? = nil,
        watchlist: [String] = []
    ) -> UserAuthenticator {
        UserAuthenticator { [self] socketID in
            let userData = UserDescription.signIn(id: user, info: info, watchlist: watchlist)
            let auth = try authentication(of: socketID, as: userData)
            return UserAuthentication(auth: auth, userData: userData)
        }
    }

    /// Signs a client's subscription, as a backend's endpoint for authorisation does.
    ///
    /// - Parameters:
    ///   - socketID: The client's connection.
    ///   - channel: The channel's name.
    ///   - member: On a presence channel, an object with `user_id` and `user_info` as JSON text.
    /// - Returns: The `auth` that belongs into the answer, with `member` as its `channel_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` when that is no socket ID.
    public func authorization(
        of socketID: String,
        for channel: String,
        as member: String? = nil
    ) throws(FanfareTestingError) -> String {
        guard let id = SocketID(socketID) else { throw .noConnection(socketID: socketID) }
        return ChannelSignature.auth(
            socketID: id,
            channel: channel,
            channelData: member,
            key: settings.key,
            secret: AppSecret(settings.secret)
        )
    }

    /// Signs a client's sign-in, as a backend's endpoint for users does.
    ///
    /// - Parameters:
    ///   - socketID: The client's connection.
    ///   - userData: An object with `id` and perhaps `user_info` and `watchlist`, as JSON text.
    /// - Returns: The `auth` that belongs into the answer, with `userData` as its `user_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` when that is no socket ID.
    public func authentication(
        of socketID: String,
        as userData: String
    ) throws(FanfareTestingError) -> String {
        guard let id = SocketID(socketID) else { throw .noConnection(socketID: socketID) }
        return UserSignature.auth(
            socketID: id,
            userData: userData,
            key: settings.key,
            secret: AppSecret(settings.secret)
        )
    }
}
