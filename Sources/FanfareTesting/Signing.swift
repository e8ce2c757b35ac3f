public import FanfareClient
import PusherProtocol

/// The signatures of the app's backend, which the test makes instead.
extension ScriptedBroker {
    /// Returns an authorizer that signs every channel with the app's secret.
    ///
    /// - Parameters:
    ///   - user: The ID of the user on presence channels; `nil` for a user named after the connection.
    ///   - info: The `user_info` sent to other members, as JSON text; `nil` for none.
    /// - Returns: The `channelAuthorizer` for a client's options.
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

    /// Returns an authenticator that signs a user in with the app's secret.
    ///
    /// - Parameters:
    ///   - user: The user's ID.
    ///   - info: The `user_info` sent to other members, as JSON text; `nil` for none.
    ///   - watchlist: The IDs of the users to watch.
    /// - Returns: The `userAuthenticator` for a client's options.
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

    /// Signs a client's subscription, like a backend's authorisation endpoint.
    ///
    /// - Parameters:
    ///   - socketID: The client's socket ID.
    ///   - channel: The channel's name.
    ///   - member: On a presence channel, an object with `user_id` and `user_info` as JSON text.
    /// - Returns: The `auth` of the response; send `member` as its `channel_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` if the text is no socket ID.
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

    /// Signs a client's sign-in, like a backend's user authentication endpoint.
    ///
    /// - Parameters:
    ///   - socketID: The client's socket ID.
    ///   - userData: An object with `id` and optional `user_info` and `watchlist`, as JSON text.
    /// - Returns: The `auth` of the response; send `userData` as its `user_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` if the text is no socket ID.
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
